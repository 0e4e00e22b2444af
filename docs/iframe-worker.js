// Search on pages that are opened from the disk, where a browser starts no Worker: the worker's script runs in a hidden frame.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      const inner = this.inner = frame.contentWindow;
      inner.postMessage = data => this.answer(data);
      inner.importScripts = (...urls) => Promise.all(urls.map(one => this.load(one)));
      this.ready = this.load(url);
    }
    load(url) {
      return new Promise((resolve, reject) => {
        const script = this.inner.document.createElement("script");
        Object.assign(script, {src: new URL(url, location.href).href, onload: resolve, onerror: reject});
        this.inner.document.body.append(script);
      });
    }
    postMessage(data) {
      this.ready.then(() => this.inner.dispatchEvent(new MessageEvent("message", {data})));
    }
    answer(data) {
      const event = new MessageEvent("message", {data});
      this.dispatchEvent(event);
      if (this.onmessage) this.onmessage(event);
    }
    terminate() {}
  };
}
