// Asks the search of the built site: node search.js SITE QUERY..., and prints the entries that each query finds as JSON.
// The site's own worker answers, in place of a browser's.
const fs = require("fs"), path = require("path"), vm = require("vm")
const [site, ...queries] = process.argv.slice(2)
const workers = path.join(site, "assets/javascripts/workers")
let listener, answer
const world = vm.createContext({
  console,
  addEventListener: (_, heard) => { listener = heard },
  postMessage: message => answer(message),
  importScripts: (...names) => names.forEach(name => load(path.join(workers, name))),
})
world.self = world
const load = file => vm.runInContext(fs.readFileSync(file, "utf-8"), world)
const ask = message => new Promise(resolve => { answer = resolve; listener({ data: message }) })

async function main() {
  load(path.join(workers, fs.readdirSync(workers).find(name => /^search\..*\.js$/.test(name))))
  const index = JSON.parse(fs.readFileSync(path.join(site, "search/search_index.json"), "utf-8"))
  await ask({ type: 0, data: { ...index, options: { suggest: false } } })
  const found = {}
  for (const query of queries) found[query] = (await ask({ type: 2, data: query })).data.items.flat()
  console.log(JSON.stringify(found))
}
main()
