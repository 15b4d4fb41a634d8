// Takes the pictures of the staff console for the README: a board, a review with a CV, a hire before it is made, and a
// role next to its public page. The pictures show the sample company, to which this part adds candidates. The part
// saves the pictures as `picture-….png` in ARTEFACTS.

import { statSync } from 'node:fs';

import { apply, field, fill, send, visitor } from './browser.mjs';
import { serve } from './service.mjs';

/// The maximum size of a picture. The README shows several, and some readers load them over a slow connection.
const BYTES_MAX = 150000;

const ROLE = 'role_controls-engineer';

/// Candidates at each step of the role, and how many days ago they applied.
const PEOPLE = [
  [['Amélie Byrne', 2], ['Björn Castellanos', 3], ['Chiara Dąbrowski', 5], ['Dmytro Shevchenko', 6]],
  [['Eilidh Fraser', 8], ['Farid Haddad', 9], ['Greta Lindqvist', 9]],
  [['Hugo Marchetti', 12], ['Ines Carvalho', 14]],
  [['Kaya Öztürk', 21]],
];

const CV = `Zofia Wiśniewska
Gdańsk, Poland

Experience
  2022 to today   Controls engineer, Baltic Offshore Services
                  Pitch and yaw control of 8 MW turbines; load reduction of 6 % in storms
  2018 to 2022    Software engineer, Morska Automatyka
                  Firmware for converter cabinets, in C and Rust

Education
  2018            MSc Automation and Robotics, Gdańsk University of Technology

Languages
  Polish, English, German (B2)
`;

function caller(base, key) {
  return async (path, body) => {
    const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
    const answer = await fetch(base + path, { method: 'POST', headers, body: JSON.stringify(body) });
    if (!answer.ok) {
      throw new Error(`${path} was answered with ${answer.status}: ${await answer.text()}`);
    }
    return (await answer.json()).data;
  };
}

async function addPeople(call) {
  for (const [order, people] of PEOPLE.entries()) {
    for (const [name, days] of people) {
      const appliedAt = new Date(Date.now() - days * 86400000).toISOString();
      const email = `${name.split(' ')[0].normalize('NFKD').replace(/[^a-z]/gi, '').toLowerCase()}@people.example`;
      const { applications } = await call('/api/v1/organizations/org_halmwind/candidates', { name, email, roleId: ROLE, appliedAt });
      for (const step of applications[0].steps.slice(0, order)) {
        await call(`/api/v1/candidate-steps/${step.id}/validate`, {});
      }
    }
  }
}

/// Applies on the public page, with a CV.
async function applyWithCv(browser, base, fault) {
  const context = await visitor(browser, fault, { origins: [base] });
  const page = await context.newPage();
  await page.goto(`${base}/careers/halmwind/roles/${ROLE}?lang=en`);
  const openedAt = await apply(page, 'en');
  await fill(page, {
    name: 'Zofia Wiśniewska', email: 'zofia@people.example', phone: '+48 58 000 00 00',
    note: 'I have tuned pitch controllers for four years and would like to do so for turbines that I helped to design.',
  });
  await field(page, 'cv').setInputFiles({ name: 'Zofia Wiśniewska.txt', mimeType: 'text/plain', buffer: Buffer.from(CV) });
  await field(page, 'consent').check();
  await send(page, 'en', openedAt);
  await context.close();
}

async function picture(page, name, fault) {
  const path = `${process.env.ARTEFACTS}/picture-${name}.png`;
  await page.screenshot({ path });
  const bytes = statSync(path).size;
  if (bytes > BYTES_MAX) {
    fault(`the size of the picture ${name} is ${bytes} bytes`);
  }
  return `${name} ${Math.ceil(bytes / 1000)} kB`;
}

export async function check(browser, company, fault) {
  const { service, printed } = await serve(['--demo', '--db', 'pictures.db', '--listen', '127.0.0.1:0', '--signup-limit', '0']);
  const link = await printed('console: ');
  const { origin: base } = new URL(link);
  await addPeople(caller(base, await printed('key: ')));
  await applyWithCv(browser, base, fault);
  const context = await visitor(browser, fault, { width: 1280, height: 760, locale: 'en', origins: [base] });
  const page = await context.newPage();
  await page.goto(link);
  await page.locator('main form button').first().click();
  await page.waitForURL(/\/app$/);
  const sizes = [];

  const role = `${base}/app/halmwind/roles/${ROLE}`;
  await page.goto(role);
  await page.locator('.card > a', { hasText: 'Farid Haddad' }).focus();
  await page.keyboard.press('e');
  await page.locator('#say', { hasText: 'Farid Haddad' }).waitFor();
  sizes.push(await picture(page, 'board', fault));

  await page.goto(`${base}/app/halmwind/review?role=${ROLE}`);
  await page.locator('.queue a', { hasText: 'Zofia' }).click();
  await page.locator('h1', { hasText: 'Zofia' }).waitFor();
  await page.frameLocator('iframe.file').locator('body', { hasText: 'Gdańsk' }).waitFor();
  sizes.push(await picture(page, 'review', fault));

  // Amara Okonkwo is the only candidate at the offer step.
  await page.goto(role);
  await page.locator('.card > a', { hasText: 'Amara Okonkwo' }).click();
  await page.locator('a[href*="/hire"]').click();
  await page.locator('#effects').waitFor();
  sizes.push(await picture(page, 'hire', fault));

  await page.goto(`${role}/edit`);
  await page.locator('section.preview').scrollIntoViewIfNeeded();
  await page.frameLocator('iframe[name=preview]').locator('h1').waitFor();
  sizes.push(await picture(page, 'role-editor', fault));
  await context.close();
  service.kill();
  console.log(`  ${sizes.join(', ')}`);
}
