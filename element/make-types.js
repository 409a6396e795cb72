// Makes export-button.d.ts out of the JSDoc of export-button.js, checking its types
// on the way. The first line names the source by its hash: a test compares it.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';

process.chdir(import.meta.dirname);
execFileSync('npx', ['--yes', '--package=typescript@5.9.3', 'tsc', '--allowJs', '--checkJs', '--strict', '--declaration', '--emitDeclarationOnly',
  '--target', 'es2022', '--module', 'esnext', '--lib', 'es2023,dom,dom.iterable', '--newLine', 'lf', 'export-button.js'], { stdio: 'inherit' });
const sum = createHash('sha256').update(readFileSync('export-button.js')).digest('hex');
const made = readFileSync('export-button.d.ts', 'utf8');
writeFileSync('export-button.d.ts', `// Made by "npm run types" of export-button.js, sha256 ${sum}.\n${made}
declare global {
  interface HTMLElementTagNameMap { 'export-button': ExportButton }
  interface HTMLElementEventMap { 'export-state': CustomEvent<Job>; 'export-done': CustomEvent<Job> }
}
`);
