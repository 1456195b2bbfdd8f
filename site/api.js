// Writes the API reference as Markdown: one page for each door of package.json, made from its types.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Application, ReflectionKind } from 'typedoc';
import { doorsOf } from '../scripts/doors.js';

const [repository, folder] = process.argv.slice(2);
const doors = doorsOf(repository);

const app = await Application.bootstrapWithPlugins({
  entryPoints: doors.map(({ source }) => join(repository, source)),
  tsconfig: join(repository, 'tsconfig.json'),
  plugin: ['typedoc-plugin-markdown'],
  out: folder,
  router: 'module',
  entryFileName: 'index',
  name: 'API reference',
  readme: 'none',
  // What is called comes before what it takes.
  groupOrder: ['Functions', 'Variables', 'Classes', 'Interfaces', 'Type Aliases', '*'],
  disableSources: true,
  excludeInternal: true,
  hidePageHeader: true,
  hideBreadcrumbs: true,
  parametersFormat: 'table',
  interfacePropertiesFormat: 'table',
  sanitizeComments: true,
  // The type checker of the repository is newer than the one that TypeDoc works with; `npm run check` checks.
  skipErrorChecking: true,
  logLevel: 'Error',
  validation: false,
});
const project = await app.convert();
if (!project) process.exit(1);
// A parameter that is taken apart has no name of its own.
for (const parameter of project.getReflectionsByKind(ReflectionKind.Parameter)) {
  if (parameter.name.startsWith('__')) parameter.name = 'options';
}
// TypeDoc names a module after its file.
for (const module of project.children ?? []) {
  module.name = doors.find(({ module: name }) => name === module.name)?.door ?? module.name;
}
await app.generateOutputs(project);
for (const path of readdirSync(folder, { recursive: true })) {
  const file = join(folder, path);
  // Tables get anchors in HTML, which the site shows as text. Nothing links to them.
  if (path.endsWith('.md')) writeFileSync(file, readFileSync(file, 'utf8').replace(/<a id="[^"]*"><\/a> ?/g, ''));
}
