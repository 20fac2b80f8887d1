// A headless Chromium, driven over a pipe in the words of its DevTools protocol.
import {spawn} from 'node:child_process';
import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';

export class Browser {
  constructor() {
    this.profile = mkdtempSync(join(tmpdir(), 'pt2-chromium-'));
    this.process = spawn('chromium', ['--headless', '--no-sandbox', '--disable-gpu', '--hide-scrollbars', '--no-first-run',
      '--remote-debugging-pipe', `--user-data-dir=${this.profile}`, 'about:blank'],
    {stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe']});
    this.next = 0;
    this.waiting = new Map();
    this.listeners = [];
    let rest = '';
    this.process.stdio[4].setEncoding('utf8').on('data', (text) => {
      const messages = (rest + text).split('\0');
      rest = messages.pop();
      for (const message of messages) this.take(JSON.parse(message));
    });
    this.process.on('error', (error) => this.fail(error));
    this.process.on('exit', () => this.fail(new Error('chromium ended')));
  }
  fail(error) {
    for (const {reject} of this.waiting.values()) reject(error);
    this.waiting.clear();
  }
  take(message) {
    if (message.id === undefined) return this.listeners.forEach((listener) => listener(message));
    const {resolve, reject} = this.waiting.get(message.id);
    this.waiting.delete(message.id);
    if (message.error) reject(new Error(message.error.message));
    else resolve(message.result);
  }
  send(method, params = {}, sessionId = undefined) {
    const id = ++this.next;
    this.process.stdio[3].write(`${JSON.stringify({id, method, params, sessionId})}\0`);
    return new Promise((resolve, reject) => this.waiting.set(id, {resolve, reject}));
  }
  // Calls listener({method, params, sessionId}) with each event.
  listen(listener) {
    this.listeners.push(listener);
  }
  async page() {
    const {targetId} = await this.send('Target.createTarget', {url: 'about:blank'});
    const {sessionId} = await this.send('Target.attachToTarget', {targetId, flatten: true});
    return new Page(this, sessionId);
  }
  async close() {
    const ended = new Promise((resolve) => this.process.on('exit', resolve));
    await this.send('Browser.close').catch(() => {});
    await ended;
    rmSync(this.profile, {recursive: true, force: true, maxRetries: 5});
  }
}

// A page, or a frame that has a process of its own.
export class Page {
  constructor(browser, sessionId) {
    this.browser = browser;
    this.sessionId = sessionId;
  }
  send(method, params) {
    return this.browser.send(method, params, this.sessionId);
  }
  // What the expression, or the promise that it is, evaluates to.
  async evaluate(expression) {
    const params = {expression, awaitPromise: true, returnByValue: true};
    const {result, exceptionDetails} = await this.send('Runtime.evaluate', params);
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }
  async until(expression) {
    for (let i = 0; i < 1200; ++i) {
      const value = await this.evaluate(expression);
      if (value) return value;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    throw new Error(`in a minute it did not become true: ${expression}`);
  }
  async screenshot() {
    return Buffer.from((await this.send('Page.captureScreenshot', {format: 'png'})).data, 'base64');
  }
}
