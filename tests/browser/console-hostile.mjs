// Checks that the staff console shows as plain text any script that candidates or staff enter, and never executes it.

import { HOSTILE, base, call } from './company.mjs';
import { apply, field, fill, open, screenshot, send, visitor } from './browser.mjs';
import { crawl, inspect, signedIn } from './staff.mjs';

const STAFF = 'mallory@hostile.example';
const CV = 'cv "><img src=x onerror=window.__canary=41>.pdf';

/// Applies with scripts in every field that accepts them, in the file, and in its name.
async function applyTo(browser, fault, hostile, trap, email) {
  const context = await visitor(browser, fault);
  const page = await context.newPage();
  await open(page, `/careers/${hostile.slug}/roles/${trap.id}?lang=en`, fault);
  const openedAt = await apply(page, 'en');
  await fill(page, {
    name: `Eve ${HOSTILE.script}${HOSTILE.attribute}`, email, phone: `1 ${HOSTILE.script.slice(0, 40)}`,
    links: "https://example.org/?q='-(window.__canary=42)-'", note: Object.values(HOSTILE).join('\n'),
  });
  const file = { name: CV, mimeType: 'application/pdf', buffer: Buffer.from('%PDF-1.4\n<script>window.__canary=43</script>') };
  await field(page, 'cv').setInputFiles(file);
  await field(page, 'consent').check();
  await send(page, 'en', openedAt);
  await context.close();
}

export async function check(browser, { hostile, trap }, fault) {
  const user = await call('POST', '/api/admin/users', { email: STAFF, name: `Mallory ${HOSTILE.script}` });
  await call('PUT', `/api/admin/organizations/${hostile.id}/memberships/${user.id}`, { orgRole: 'moderator' });
  for (const step of [HOSTILE.title, HOSTILE.template]) {
    await call('POST', `/api/v1/roles/${trap.id}/steps`, { name: step });
  }
  await applyTo(browser, fault, hostile, trap, 'eve.console@example.org');
  await applyTo(browser, fault, hostile, trap, 'eve.again@example.org');
  // The activity shows the notes of this decision.
  const candidates = await call('GET', `/api/v1/organizations/${hostile.id}/candidates?q=eve.again`);
  const { applications } = await call('GET', `/api/v1/candidates/${candidates[0].id}`);
  await call('POST', `/api/v1/candidate-steps/${applications[0].steps[0].id}/reject`, {
    outcomeType: 'rejected_by_organization', outcomeReason: 'other', outcomeNotes: Object.values(HOSTILE).join(' '),
  });
  const context = await signedIn(browser, fault, STAFF, { locale: 'en', base, db: 'jobs.db' });
  const shown = new Set();
  const pages = await crawl(context, base, fault, async (page, name) => {
    await page.evaluate(() => {
      document.querySelectorAll('details').forEach((element) => element.setAttribute('open', ''));
      for (const element of document.querySelectorAll('main *, header *, nav *')) {
        element.dispatchEvent(new MouseEvent('mouseover', { bubbles: true }));
        element.focus?.();
      }
    });
    await inspect(page, fault);
    const text = await page.locator('body').innerText();
    Object.values(HOSTILE).filter((value) => text.includes(value)).forEach((value) => shown.add(value));
    await screenshot(page, `console-hostile-${name}`);
  });
  for (const [name, value] of Object.entries(HOSTILE)) {
    if (!shown.has(value)) {
      fault(`no page shows the text ${name}, so the test does not cover that text`);
    }
  }
  console.log(`  ${pages} pages`);
  await context.close();
}
