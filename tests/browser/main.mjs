// Runs all parts, or those that PARTS names, and says how many passed. Each part collects what it finds wrong, so that one
// run tells everything.

import { launch } from './browser.mjs';
import { settle } from './company.mjs';

const parts = {
  journey: 'From the portal to an application and back out of it, by hand',
  keyboard: 'By keyboard alone',
  accessible: 'The rules of accessibility, on every page, in every language',
  colours: 'The same in colours that are hard to read',
  zoom: 'Zoom, large texts and small windows',
  hostile: 'Texts that try to be scripts',
  embed: 'The list of roles in a page of another origin',
};
const wanted = process.env.PARTS ? process.env.PARTS.split(',') : Object.keys(parts);

const began = Date.now();
const company = await settle();
const browser = await launch();
let failed = 0;
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
    console.log(`  WRONG: ${fault}`);
  }
  failed += faults.size > 0;
  console.log(`  ${faults.size === 0 ? 'passed' : `${faults.size} wrong`}, ${((Date.now() - at) / 1000).toFixed(1)} s`);
}
await browser.close();
console.log(`\n${((Date.now() - began) / 1000).toFixed(0)} s`);
console.log(`${wanted.length - failed} passed, ${failed} failed`);
process.exit(failed > 0 ? 1 : 0);
