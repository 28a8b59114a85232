// Filters: a machine is shown if it has every pressed tag and every word of the search. The address keeps the choice.
const cards = [...document.querySelectorAll('main > [data-tags]')].map(at => ({
  at, tags: at.dataset.tags.split(' '), text: at.textContent.toLowerCase(),
}));
const buttons = [...document.querySelectorAll('.filters button[data-tag]')];
const search = document.querySelector('.filters input');
const count = document.querySelector('.filters output');
const none = document.querySelector('.none');

const pressed = () => buttons.filter(b => b.ariaPressed === 'true').map(b => b.dataset.tag);
const words = () => search.value.toLowerCase().split(/\s+/).filter(Boolean);
const fits = (card, tags, words) => tags.every(t => card.tags.includes(t)) && words.every(w => card.text.includes(w));

function show() {
  const tags = pressed(), sought = words();
  const shown = cards.filter(card => fits(card, tags, sought));
  for (const card of cards) card.at.hidden = !shown.includes(card);
  for (const button of buttons) {
    const tag = button.dataset.tag, on = tags.includes(tag);
    const left = shown.filter(card => card.tags.includes(tag)).length;
    button.querySelector('span').textContent = left;
    button.disabled = !on && left === 0;
  }
  count.textContent = `${shown.length} of ${cards.length} machines`;
  none.hidden = shown.length > 0;
}

function keep() {
  const choice = new URLSearchParams();
  if (pressed().length) choice.set('tags', pressed().join(' '));
  if (search.value) choice.set('search', search.value);
  history.replaceState(null, '', `#${choice}`);
  show();
}

const asked = new URLSearchParams(location.hash.slice(1));
search.value = asked.get('search') ?? '';
const tags = (asked.get('tags') ?? '').split(' ');
for (const button of buttons) {
  button.ariaPressed = String(tags.includes(button.dataset.tag));
  button.onclick = () => { button.ariaPressed = String(button.ariaPressed !== 'true'); keep(); };
}
search.oninput = keep;
document.querySelector('.bar').hidden = false;
show();
