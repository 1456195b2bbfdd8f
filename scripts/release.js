// Publishes the package with provenance. Refuses where something that users need is missing. --dry-run publishes nothing.
//   node scripts/release.js [--dry-run]
// Run it in a CI job that may ask for an identity token (on GitHub: permissions: id-token: write); npm makes the provenance there.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const isDryRun = process.argv.includes('--dry-run');

/** The reasons against a release. None: an empty list. */
export function reasonsAgainst({ manifest, security, changelog, isClean }) {
  const { repository, version = '' } = manifest;
  const address = typeof repository === 'string' ? repository : repository?.url;
  return [
    ...(isAddress(address)
      ? []
      : ['package.json has no repository address: provenance, the page on npm and links need it']),
    ...(hasContact(security) ? [] : ['SECURITY.md has no contact: a line "Contact: mailto:… or https://…"']),
    ...(new RegExp(`^## ${version.replaceAll('.', '\\.')}(?:\\s|$)`, 'm').test(changelog)
      ? []
      : [`CHANGELOG.md has no section "## ${version}"`]),
    ...(isClean ? [] : ['there are changes that are not committed']),
  ];
}

const isAddress = (address) => /^(?:git\+)?https:\/\/[\w.-]+\/\S+$/.test(address ?? '');
const hasContact = (security) => /^Contact: (?:mailto:\S+@\S+|https:\/\/\S+)$/m.test(security);

function run(command, args) {
  const { status } = spawnSync(command, args, { stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}

function main() {
  const git = spawnSync('git', ['status', '--porcelain'], { encoding: 'utf8' });
  const reasons = reasonsAgainst({
    manifest: JSON.parse(readFileSync('package.json', 'utf8')),
    security: readFileSync('SECURITY.md', 'utf8'),
    changelog: readFileSync('CHANGELOG.md', 'utf8'),
    isClean: git.status === 0 && git.stdout === '',
  });
  if (reasons.length > 0) {
    console.error(['Not released:', ...reasons.map((reason) => `- ${reason}`)].join('\n'));
    process.exit(1);
  }
  run('npm', ['cit']);
  run('npm', ['publish', '--access', 'public', ...(isDryRun ? ['--dry-run'] : ['--provenance'])]);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main();
