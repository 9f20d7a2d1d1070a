// Lets the search work when the site is opened from disk, where browsers refuse workers: its worker runs in a hidden frame.
if (location.protocol === "file:") {
  const load = (page, url) => new Promise((done, failed) => {
    const script = page.createElement("script")
    Object.assign(script, {src: url, onload: done, onerror: failed})
    page.body.append(script)
  })
  window.IFrameWorker = window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.append(frame)
      const page = frame.contentDocument
      page.open()
      page.write("<!doctype html><body></body>")
      page.close()
      this.inside = frame.contentWindow
      this.inside.postMessage = data => this.dispatchEvent(new MessageEvent("message", {data}))
      this.inside.importScripts = (...urls) => urls.reduce((before, each) => before.then(() => load(page, each)), Promise.resolve())
      this.ready = load(page, url)
    }
    postMessage(data) {
      this.ready.then(() => this.inside.dispatchEvent(new this.inside.MessageEvent("message", {data})))
    }
  }
}
