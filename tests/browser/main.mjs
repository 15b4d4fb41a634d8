// Runs all parts, or those that PARTS names, and prints how many passed and failed. A minus sign before a name in PARTS
// leaves that part out. A part continues after most faults, so that one run reports as many as possible. All faults are
// saved to faults.txt.

import { writeFileSync } from 'node:fs';

import { launch } from './browser.mjs';
import { createCompany } from './company.mjs';

const parts = {
  journey: 'From the portal to an application and its withdrawal',
  keyboard: 'Keyboard navigation',
  accessible: 'Accessibility rules on the pages for candidates, in every language',
  colours: 'Contrast with difficult brand colours',
  zoom: 'Zoom, large text and small windows',
  hostile: 'Script injection',
  embed: 'The embedded list of roles on another origin',
  'console-first': 'The first decision in the sample company',
  'console-journey': 'The first day of an organization in the staff console',
  'console-addresses': 'The staff console at other addresses',
  'console-speed': 'Decisions on a role with 2,000 candidates',
  'console-hostile': 'Script injection in the staff console',
  'console-pages': 'Each kind of page in the staff console',
  'console-two': 'Two people who act on the same application or role',
  'console-steps': 'The pipeline of a role',
  'console-live': 'Changes by others on open pages',
  'console-undo': 'The pages that candidates see while decisions are made and undone',
  'console-dialogs': 'Dialogs and messages of the staff console',
  'console-decide': 'Decisions in the staff console',
  'console-later': 'Putting aside, closing out and reopening in the staff console',
  'console-passkeys': 'Passkeys in the staff console',
  'console-keyboard': 'The staff console with a keyboard only',
  'console-keys': 'Keyboard shortcuts of the staff console',
  'console-refusals': 'Refusals in the staff console',
  'console-codes': 'One-time codes and recovery codes',
  'console-pictures': 'The pictures of the staff console',
};
const isConsole = (part) => part.startsWith('console-');
const groups = { console: Object.keys(parts).filter(isConsole), candidates: Object.keys(parts).filter((part) => !isConsole(part)) };
const named = process.env.PARTS ? process.env.PARTS.split(',') : Object.keys(groups);
const wanted = named.filter((name) => !name.startsWith('-')).flatMap((name) => groups[name] ?? [name]).filter((part) => !named.includes(`-${part}`));

const began = Date.now();
const company = await createCompany();
const browser = await launch();
let failed = 0;
const all = [];
for (const part of wanted) {
  const { check } = await import(`./${part}.mjs`);
  console.log(`\n# ${parts[part]}`);
  const faults = new Set();
  const at = Date.now();
  try {
    await check(browser, company, (fault) => faults.add(fault));
  } catch (error) {
    faults.add(error.stack);
  }
  for (const fault of faults) {
    console.log(`  FAULT: ${fault}`);
    all.push(`${part}: ${fault}`);
  }
  failed += faults.size > 0;
  console.log(`  ${faults.size === 0 ? 'passed' : `${faults.size} ${faults.size === 1 ? 'fault' : 'faults'}`}, ${((Date.now() - at) / 1000).toFixed(1)} s`);
}
await browser.close();
console.log(`\n${((Date.now() - began) / 1000).toFixed(0)} s`);
writeFileSync('faults.txt', all.map((fault) => `FAULT: ${fault}\n`).join(''));
console.log(`${wanted.length - failed} passed, ${failed} failed`);
process.exit(failed > 0 ? 1 : 0);
