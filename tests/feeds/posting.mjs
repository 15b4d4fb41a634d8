// Checks the JSON-LD of every posting against the vocabulary of schema.org and against the requirements of search
// engines for a JobPosting. The arguments are the base URL of the service and the interchange document. Run this script
// in the directory with the packages.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';

import Validator from '@adobe/structured-data-validator';
import Extractor from '@marbec/web-auto-extractor';

const [base, path] = process.argv.slice(2);
const { organizations } = JSON.parse(readFileSync(path, 'utf8'));

// Fields that are absent if a role's location names no country. Search engines then show less of the role.
const UNKNOWABLE = ['jobLocation', 'jobLocation.address.addressCountry', 'applicantLocationRequirements'];
const names = (issue) => issue.fieldNames ?? [];

let typescript = "import type { JobPosting, WithContext } from 'schema-dts';\n";
let pages = 0;
for (const organization of organizations.filter(({ portal }) => portal.enabled)) {
  const list = `${base}/careers/${organization.slug}`;
  assert.ok(!(await text(list)).includes('application/ld+json'), 'the list of roles has JSON-LD');
  for (const role of organization.roles.filter((role) => role.public && role.status === 'open')) {
    const url = `${list}/roles/${role.id}`;
    const page = await text(url);
    const blocks = [...page.matchAll(/<script type="application\/ld\+json">([^]*?)<\/script>/g)];
    assert.equal(blocks.length, 1, `${url} has ${blocks.length} blocks`);
    assert.equal(page.match(/<script/g).length, 1, `${url} has another script`);
    assert.match(page, new RegExp(`<link rel="canonical" href="${url}">`));
    const posting = JSON.parse(blocks[0][1]);
    check(organization, role, url, posting);
    // The JobPosting is a literal, because the compiler finds unknown members only in literals.
    typescript += `export const posting${pages}: WithContext<JobPosting> = ${JSON.stringify(posting)};\n`;
    const found = await errors(page);
    const known = found.filter((issue) => names(issue).length > 0 && names(issue).every((name) => UNKNOWABLE.includes(name)));
    const isComplete = organization.id !== 'org_hostile' || !role.id.match(/-\d$/);
    assert.deepEqual(isComplete ? found : found.filter((issue) => !known.includes(issue)), [], url);
    pages += 1;
  }
}
assert.equal(compiled('postings.ts', typescript), '');

// Both checks must refuse a wrong JobPosting: the compiler because of an unknown member, the validator because of a
// missing title.
const wrong = { '@context': 'https://schema.org', '@type': 'JobPosting', description: 'x', datePosted: '2026-09-01', salery: 1 };
const literal = `export const wrong: WithContext<JobPosting> = ${JSON.stringify(wrong)};\n`;
assert.match(compiled('wrong.ts', typescript + literal), /salery/);
const refused = await errors(`<script type="application/ld+json">${JSON.stringify(wrong)}</script>`);
assert.ok(refused.some((issue) => names(issue).includes('title')), JSON.stringify(refused));
assert.ok(pages > 10, `${pages} pages`);
console.log(`${pages} postings follow the vocabulary of schema.org and the requirements of search engines`);

async function text(url) {
  const answer = await fetch(url);
  assert.equal(answer.status, 200, url);
  return answer.text();
}

// Returns the errors that search engines would report about the JSON-LD of a page.
async function errors(page) {
  const issues = await new Validator().validate(new Extractor({}).parse(page));
  return issues.filter(({ severity }) => severity === 'ERROR');
}

// Returns the compiler's messages about a file.
function compiled(name, source) {
  writeFileSync(name, source);
  const options = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext', '--target', 'es2022'];
  try {
    return execFileSync('node_modules/.bin/tsc', [...options, name], { encoding: 'utf8' });
  } catch (error) {
    return error.stdout;
  }
}

function check(organization, role, url, posting) {
  assert.equal(posting['@type'], 'JobPosting');
  assert.equal(posting.title, role.name);
  assert.equal(posting.url, url);
  assert.equal(posting.directApply, true);
  assert.equal(posting.identifier.value, role.id);
  const zone = organization.timeZone ?? 'UTC';
  const day = new Intl.DateTimeFormat('sv-SE', { timeZone: zone }).format(new Date(role.createdAt));
  assert.equal(posting.datePosted, day);
  assert.equal(posting.hiringOrganization.name, organization.name);
  assert.equal('validThrough' in posting, role.closesOn !== undefined, url);
  if (role.closesOn) {
    const last = new Intl.DateTimeFormat('sv-SE', { timeZone: zone }).format(new Date(posting.validThrough));
    assert.equal(last, role.closesOn);
  }
  assert.equal(posting.jobLocationType, role.workType === 'remote' ? 'TELECOMMUTE' : undefined);
  assert.ok(posting.description.length > 0);
  const isShown = organization.portal.theme?.showSalary && role.salaryCurrency !== undefined;
  assert.equal('baseSalary' in posting, Boolean(isShown), url);
  if (isShown) {
    assert.match(posting.baseSalary.value.unitText, /^(HOUR|DAY|WEEK|MONTH|YEAR)$/);
  }
  const links = JSON.stringify(posting.hiringOrganization);
  assert.ok(!links.includes('javascript:'), links);
}
