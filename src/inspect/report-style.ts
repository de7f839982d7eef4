import { shadeRules } from "./heatmap.js";
import { DARK, INKS, LEVELS, LIGHT } from "./scale.js";

/** What the policy of a report lets through: the SHA-256 of STYLE, which test/inspect/html.test.ts holds. */
export const STYLE_HASH = "sha256-SixDK7mbCaH2FVLBcQ5JVzH14lSeJlZYCRNDLsFiT0A=";

/** Texts on shades, readable on each. */
function inkRules({ below, above, from }: (typeof INKS)["light" | "dark"]): string {
  const strong = Array.from({ length: LEVELS + 1 - from }, (_, i) => `.t.l${from + i}`).join(",");
  return `.t[class*=" l"]{color:${below}}${strong}{color:${above}}`;
}

function shades(colours: readonly string[], inks: (typeof INKS)["light" | "dark"]): string {
  const backs = colours
    .slice(1)
    .map((colour, index) => `.t.l${index + 1}{background:${colour}}`)
    .join("");
  return `${shadeRules(colours)}\n${backs}${inkRules(inks)}`;
}

export const STYLE = `
:root{color-scheme:light dark;--paper:#fff;--ink:#16181d;--soft:#5c6370;--line:#e3e6ea;--tick:#aab0ba;--mark:#b4470f}
*{box-sizing:border-box}
html{background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif;-webkit-text-size-adjust:100%}
body{margin:0}
main{max-width:92rem;margin:auto;padding:2.5rem clamp(1rem,4vw,3rem) 4rem}
h1,h2,h3,p,ol,fieldset{margin:0;padding:0;border:0}
h1,h2,.about,nav{overflow-wrap:anywhere}
h1{font-size:1.5rem;line-height:1.3;font-weight:650;letter-spacing:-.01em}
header p,.about,.hint{color:var(--soft)}
nav{margin-top:1rem;columns:20rem}
nav ol{padding-left:1.6em}
a{color:inherit;text-decoration-color:var(--tick);text-underline-offset:.2em}
section{display:grid;grid-template:auto 1fr/minmax(0,max-content) 17.5rem;gap:0 2.5rem;margin-top:1.75rem;padding-top:1.75rem;border-top:1px solid var(--line)}
h2{font-size:1.125rem;line-height:1.35;font-weight:600}
.about{font-size:.875rem}
h3{margin-top:1.25rem;font-size:.8125rem;font-weight:600}
h3 small{display:none;margin-left:.5em;font-size:1em;font-weight:400;color:var(--soft)}
.live h3 small{display:inline}
.tokens{max-width:72rem;margin:.25rem 0 0 -.25rem;font-size:1.0625rem;line-height:1.75}
.t{display:inline-block;max-width:100%;margin:0;padding:.05em .25em;border:0;border-radius:.25em;background:none;color:inherit;font:inherit;line-height:1.45;text-align:inherit;white-space:pre-wrap;overflow-wrap:anywhere;overflow:hidden;vertical-align:top;unicode-bidi:plaintext}
button.t{cursor:pointer}
button.t:hover,button.t.on,button.t:focus-visible{outline:2px solid var(--mark);outline-offset:-1px}
.scale{display:block;margin:1.5rem 0 0 -1px;max-width:100%}
.text,.picture{grid-column:1;min-width:0}
.scroll{margin-top:.5rem;overflow-x:auto}
.heat{display:block;max-width:100%;height:auto}
svg text{fill:var(--ink);font-family:inherit;white-space:pre}
.legend text{fill:var(--soft);font-size:10px}
.tick{stroke:var(--tick);fill:none}
.rules{stroke:var(--paper);fill:none}
.heat path,.thumb path,.legend path{shape-rendering:crispEdges}
.heat text,.rules,.cursor{pointer-events:none}
.cursor .frame{fill:none;stroke:var(--mark);stroke-width:1.5}
.cursor .under{fill:var(--paper)}
.cursor text{fill:var(--mark);font-weight:600}
.choices fieldset{display:flex;flex-wrap:wrap;align-items:flex-end;gap:.25rem;margin-top:1rem;min-width:0}
.choices legend{float:left;padding:0 .75rem .25rem 0;min-width:3.5rem;font-size:.8125rem;font-weight:600}
.choices label{position:relative;padding:.25rem .5rem;border-radius:.375rem;font-size:.8125rem;line-height:1.25;text-align:center;cursor:pointer;font-variant-numeric:tabular-nums}
.choices input{position:absolute;inset:0;margin:0;opacity:0;cursor:pointer}
.choices label:has(:checked){box-shadow:inset 0 0 0 2px var(--mark)}
.choices label:hover{box-shadow:inset 0 0 0 1px var(--tick)}
.choices label:has(:checked):hover{box-shadow:inset 0 0 0 2px var(--mark)}
.choices label:has(:focus-visible){outline:2px solid var(--mark);outline-offset:1px}
.thumb{display:block;width:56px;height:56px;margin:.125rem auto .25rem}
.readout{grid-area:1/2/3;position:sticky;top:1.5rem;align-self:start;min-width:0;font-size:.875rem}
.readout p{overflow-wrap:anywhere}
.readout b{font-weight:600}
.readout ol{list-style:none;margin-top:.5rem}
.readout li{display:grid;grid-template-columns:minmax(0,1fr) 5rem 3.75rem;gap:.5rem;align-items:center;line-height:1.75}
.readout li span:first-child{overflow:hidden;text-overflow:ellipsis;white-space:pre;unicode-bidi:plaintext}
.readout li span:last-child{text-align:right;font-variant-numeric:tabular-nums}
.readout li.here{color:var(--mark);font-weight:600}
.bar{height:.5rem;border-radius:2px}
.bar i{display:block;height:100%;min-width:1px;border-radius:2px;background:${LIGHT[10]}}
${shades(LIGHT, INKS.light)}
@media(prefers-color-scheme:dark){
:root{--paper:#131519;--ink:#e6e8ec;--soft:#9aa1ad;--line:#2a2e36;--tick:#565d69;--mark:#ff9d5c}
.bar i{background:${DARK[10]}}
${shades(DARK, INKS.dark)}
}
@media(max-width:60rem){
section{grid-template:none/minmax(0,1fr)}
.readout{grid-area:auto;order:1;position:static;min-height:8.5rem;margin-top:1.25rem}
.readout ol{columns:13rem;column-gap:2rem}
.readout li{break-inside:avoid}
.heat{max-width:none}
}
@media(max-width:30rem){.readout{min-height:15rem}}
@media print{.choices,.live h3 small,.hint{display:none}section{break-inside:avoid}}
`;
