// Checks each kind of page for candidates with axe-core: in each language, light and dark, at two widths. A short run
// checks the pages in English, and less of them in German.

import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';

import { LANGUAGES, hasEveryLook, inspect, screenshot, inParallel, visitor } from './browser.mjs';
import { pages } from './pages.mjs';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/// The rules about colours.
export const COLOUR_RULES = ['color-contrast', 'link-in-text-block'];

/// Returns the rules that a check in this language and colour scheme applies. Dark mode changes only colours, so the
/// other rules would give the same result again. Colours do not depend on the language, so a short run applies the
/// rules about colours in English only.
export function rulesFor(lang, colorScheme) {
  if (colorScheme === 'dark') {
    return { only: COLOUR_RULES };
  }
  return hasEveryLook(lang) ? {} : { without: COLOUR_RULES };
}

/// Returns the violations of axe-core's default rules and of `target-size`, each with at most three of its elements.
/// `only` lists the rules to check, if not all of them, and `without` lists the rules to leave out.
export async function violations(page, { only, without = [] } = {}) {
  if (!(await page.evaluate(() => 'axe' in window))) {
    await page.evaluate(axe);
  }
  return page.evaluate(async ({ only, without }) => {
    const leftOut = Object.fromEntries(without.map((rule) => [rule, { enabled: false }]));
    const options = { resultTypes: ['violations'], rules: { 'target-size': { enabled: true }, ...leftOut } };
    const { violations } = await window.axe.run(document, only ? { ...options, runOnly: only } : options);
    const where = ({ target, failureSummary }) => `${target.join(' ')} (${failureSummary.replace(/\s+/g, ' ')})`;
    return violations.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map(where).join('; ')}`);
  }, { only, without });
}

/// Checks the current page at both widths and in both colour schemes. In languages other than English, a short run
/// checks it only once, at the width of a telephone.
async function everywhere(page, name, lang, fault) {
  for (const [width, height] of hasEveryLook(lang) ? [[390, 844], [1280, 900]] : [[390, 844]]) {
    await page.setViewportSize({ width, height });
    for (const colorScheme of hasEveryLook(lang) ? ['light', 'dark'] : ['light']) {
      await page.emulateMedia({ colorScheme });
      for (const violation of await violations(page, rulesFor(lang, colorScheme))) {
        fault(`${name} in ${lang}, ${width} px, ${colorScheme}: ${violation}`);
      }
      if (lang === 'en') {
        await screenshot(page, `page-${name}-${width}-${colorScheme}`);
      }
    }
  }
}

export async function check(browser, company, fault) {
  await inParallel(2, LANGUAGES, async (lang) => {
    const visits = await pages(browser, company, lang, fault);
    const context = await visitor(browser, fault, { locale: lang });
    const page = await context.newPage();
    await page.goto(`${process.env.BASE}/careers/${company.acme.slug}`);
    for (const [name, go] of Object.entries(visits)) {
      try {
        await go(page);
        await inspect(page, fault);
        const has = await page.locator('html').getAttribute('lang');
        if (has !== lang) {
          fault(`${name} is in ${has}, not ${lang}`);
        }
        // Check collapsed content too.
        await page.evaluate(() => document.querySelectorAll('details').forEach((element) => element.setAttribute('open', '')));
        await everywhere(page, name, lang, fault);
      } catch (error) {
        fault(`${name} in ${lang}: ${error.stack}`);
      }
    }
    await context.close();
  });
}
