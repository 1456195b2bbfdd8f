// Adds to package-lock.json the optional packages of other platforms that npm left out because the registry
// it was made with does not carry them: without an entry for each, `npm ci` refuses the lock file.
// Run it after every `npm install`: node scripts/complete-lock.js [folder]
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const path = join(process.argv[2] ?? '.', 'package-lock.json');
const lock = JSON.parse(readFileSync(path, 'utf8'));
let added = 0;

for (const { optionalDependencies = {}, dev } of Object.values(lock.packages)) {
  for (const [name, version] of Object.entries(optionalDependencies)) {
    const key = `node_modules/${name}`;
    const platform = platformOf(name);
    if (lock.packages[key] || !platform) continue;
    lock.packages[key] = { version, ...platform, ...(dev ? { dev } : {}), optional: true };
    added += 1;
  }
}

const [root, ...others] = Object.entries(lock.packages);
others.sort(([a], [b]) => (a < b ? -1 : 1));
lock.packages = Object.fromEntries([root, ...others]);
if (added > 0) writeFileSync(path, `${JSON.stringify(lock, null, 2)}\n`);
console.log(`${added} optional packages of other platforms added to ${path}`);

/** What the name of a platform's package says: `…-linux-x64-musl`. */
function platformOf(name) {
  const words = name.split(/[/-]/);
  const find = (known) => known.filter((word) => words.includes(word));
  const cpu = find(['arm', 'arm64', 'x64', 'ia32', 'ppc64', 's390x', 'riscv64', 'loong64', 'wasm32']);
  const os = find([
    'aix',
    'android',
    'darwin',
    'freebsd',
    'linux',
    'netbsd',
    'openbsd',
    'openharmony',
    'sunos',
    'win32',
  ]);
  const libc = words.includes('musl') ? ['musl'] : words.includes('gnu') ? ['glibc'] : [];
  if (cpu.length === 0) return undefined;
  return { cpu, ...(os.length > 0 ? { os } : {}), ...(libc.length > 0 ? { libc } : {}) };
}
