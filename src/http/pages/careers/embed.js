// Puts an organization's open roles into a page of any site:
//
//   <div id="jobs"></div>
//   <script src="https://jobs.example.com/careers/acme/embed.js" data-target="jobs" async></script>
//
// data-target: the id of the element to fill; without it the list stands where the script does.
// data-lang:   en, de, fr or es; without it the page's own language.
//
// The list is in a shadow tree, so neither the page's styles nor these reach the other. It takes the page's font and
// colour; ::part(role), ::part(link), ::part(facts) and ::part(button) can be styled. No cookie is set or sent.
(() => {
  'use strict';

  const TEXTS = {
    en: {
      title: 'Open roles', loading: 'Loading open roles…', empty: 'There are no open roles right now.',
      failed: 'The open roles could not be loaded.', retry: 'Try again', portal: 'See all roles',
      remote: 'Remote', hybrid: 'Hybrid', onsite: 'On site', from: 'from {0}', to: 'up to {0}',
      hour: '{0} an hour', day: '{0} a day', week: '{0} a week', month: '{0} a month', year: '{0} a year',
    },
    de: {
      title: 'Offene Stellen', loading: 'Offene Stellen werden geladen …', empty: 'Zurzeit sind keine Stellen offen.',
      failed: 'Die offenen Stellen konnten nicht geladen werden.', retry: 'Erneut versuchen', portal: 'Alle Stellen ansehen',
      remote: 'Remote', hybrid: 'Hybrid', onsite: 'Vor Ort', from: 'ab {0}', to: 'bis {0}',
      hour: '{0} pro Stunde', day: '{0} pro Tag', week: '{0} pro Woche', month: '{0} pro Monat', year: '{0} pro Jahr',
    },
    fr: {
      title: 'Postes à pourvoir', loading: 'Chargement des postes…', empty: 'Aucun poste n’est à pourvoir pour le moment.',
      failed: 'Les postes n’ont pas pu être chargés.', retry: 'Réessayer', portal: 'Voir tous les postes',
      remote: 'À distance', hybrid: 'Hybride', onsite: 'Sur site', from: 'à partir de {0}', to: 'jusqu’à {0}',
      hour: '{0} par heure', day: '{0} par jour', week: '{0} par semaine', month: '{0} par mois', year: '{0} par an',
    },
    es: {
      title: 'Puestos vacantes', loading: 'Cargando los puestos vacantes…', empty: 'Ahora mismo no hay puestos vacantes.',
      failed: 'No se han podido cargar los puestos vacantes.', retry: 'Reintentar', portal: 'Ver todos los puestos',
      remote: 'En remoto', hybrid: 'Híbrido', onsite: 'Presencial', from: 'desde {0}', to: 'hasta {0}',
      hour: '{0} por hora', day: '{0} al día', week: '{0} a la semana', month: '{0} al mes', year: '{0} al año',
    },
  };

  const STYLE = `
    :host { display: block }
    section:focus { outline: none }
    p { margin: 0 }
    ul { list-style: none; margin: 0; padding: 0 }
    li { padding: .75em 0; border-bottom: 1px solid rgba(128, 128, 128, .5) }
    a { color: inherit; font-weight: 600; text-underline-offset: .2em; overflow-wrap: anywhere }
    a:focus-visible, button:focus-visible { outline: 2px solid; outline-offset: 2px }
    .facts { margin-top: .25em; overflow-wrap: anywhere }
    button { font: inherit; color: inherit; background: none; border: 1px solid; border-radius: .25em;
      min-height: 44px; margin: .75em .75em 0 0; padding: 0 1em; cursor: pointer }
    [hidden] { display: none }`;

  const WAIT_MS = 15000;

  const script = document.currentScript;
  const [, base, slug] = /^(.*)\/careers\/([^/?#]+)\/embed\.js/.exec(script.src);
  const wanted = [script.dataset.lang, document.documentElement.lang]
    .map((tag) => (tag || '').toLowerCase().split('-')[0])
    .find((tag) => Object.hasOwn(TEXTS, tag));
  const lang = wanted || 'en';
  const texts = TEXTS[lang];
  const query = wanted ? `?lang=${wanted}` : '';
  const portal = `${base}/careers/${slug}`;

  const fill = (text, value) => text.replace('{0}', () => value);

  // An element with properties and children. Data only ever becomes text.
  const make = (name, properties, ...children) => {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(properties)) {
      element.setAttribute(key, value);
    }
    element.append(...children);
    return element;
  };

  const salary = ({ salaryMin: min, salaryMax: max, salaryCurrency: currency, salaryPeriod: period }) => {
    if (!currency || (min === undefined && max === undefined)) {
      return '';
    }
    const show = (amount) => {
      const digits = Number.isInteger(amount) ? 0 : 2;
      const format = { style: 'currency', currency, minimumFractionDigits: digits, maximumFractionDigits: digits };
      try {
        return new Intl.NumberFormat(lang, format).format(amount);
      } catch {
        return `${amount} ${currency}`;
      }
    };
    let text;
    if (min === undefined) {
      text = fill(texts.to, show(max));
    } else if (max === undefined) {
      text = fill(texts.from, show(min));
    } else {
      text = min === max ? show(min) : `${show(min)} – ${show(max)}`;
    }
    return texts[period] ? fill(texts[period], text) : text;
  };

  const item = (role) => {
    const url = `${portal}/roles/${encodeURIComponent(role.id)}${query}`;
    const facts = [role.department, role.location, role.workType && texts[role.workType], salary(role)];
    const line = facts.filter((fact) => fact && fact.trim()).join(' · ');
    return make('li', { part: 'role' },
      make('a', { part: 'link', href: url }, role.name),
      ...(line ? [make('p', { part: 'facts', class: 'facts' }, line)] : []));
  };

  const read = async () => {
    const stop = new AbortController();
    const timer = setTimeout(() => stop.abort(), WAIT_MS);
    try {
      const url = `${base}/api/public/portal/${slug}`;
      const answer = await fetch(url, { credentials: 'omit', referrerPolicy: 'no-referrer', signal: stop.signal });
      // A portal that is off has nothing to show.
      if (answer.status === 404) {
        return [];
      }
      if (!answer.ok) {
        throw new Error(`status ${answer.status}`);
      }
      return (await answer.json()).roles;
    } finally {
      clearTimeout(timer);
    }
  };

  const begin = (host) => {
    const root = host.attachShadow({ mode: 'open' });
    try {
      const sheet = new CSSStyleSheet();
      sheet.replaceSync(STYLE);
      root.adoptedStyleSheets = [sheet];
    } catch {
      root.append(make('style', {}, STYLE));
    }
    const status = make('p', { role: 'status' });
    const list = make('ul', { role: 'list' });
    const button = make('button', { type: 'button', part: 'button' }, texts.retry);
    const again = make('div', {}, button, make('a', { part: 'link', href: portal + query }, texts.portal));
    const section = make('section', { lang, 'aria-label': texts.title, tabindex: '-1' }, status, list, again);
    root.append(section);

    const load = async () => {
      section.setAttribute('aria-busy', 'true');
      again.hidden = true;
      status.hidden = false;
      status.textContent = texts.loading;
      try {
        const items = (await read()).map(item);
        list.replaceChildren(...items);
        status.textContent = texts.empty;
        status.hidden = items.length > 0;
      } catch {
        status.textContent = texts.failed;
        again.hidden = false;
      }
      list.hidden = !list.hasChildNodes();
      section.removeAttribute('aria-busy');
    };
    button.addEventListener('click', () => {
      section.focus();
      load();
    });
    load();
  };

  const place = () => {
    const host = document.createElement('div');
    const target = script.dataset.target && document.getElementById(script.dataset.target);
    if (target) {
      target.replaceChildren(host);
    } else if (document.body.contains(script)) {
      script.before(host);
    } else {
      document.body.append(host);
    }
    begin(host);
  };

  if (document.readyState === 'loading') {
    document.addEventListener('DOMContentLoaded', place, { once: true });
  } else {
    place();
  }
})();
