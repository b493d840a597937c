// Notes which public methods of a client a suite calls, so that one that is never called shows.

"use strict";

/** Methods that the declarations mark as private or internal. */
const INTERNAL = new Set(["ParityHandle.set", "ParityHandle.send"]);

class Recorder {
  constructor() {
    this.classes = new Set();
    this.called = new Set();
  }

  /** Lets the methods of a class count; objects of it are watched wherever a watched call gives them out. */
  includes(...classes) {
    classes.forEach((each) => this.classes.add(each));
  }

  /** Notes every method of a class itself, also where the client alone calls it. */
  patch(patched) {
    this.includes(patched);
    for (const name of methods(patched)) {
      const original = patched.prototype[name];
      const { called } = this;
      patched.prototype[name] = function (...args) {
        called.add(`${patched.name}.${name}`);
        return original.apply(this, args);
      };
    }
  }

  /** The same object; a method that is called through it is noted, a method that it calls itself is not. */
  watch(object) {
    if (!this.classes.has(object?.constructor)) return object;
    const { called } = this;
    return new Proxy(object, {
      get: (target, name) => {
        const value = target[name];
        if (typeof value !== "function") return value;
        return (...args) => {
          called.add(`${target.constructor.name}.${String(name)}`);
          return this.watch(value.apply(target, args.map((arg) => this.#callback(arg))));
        };
      },
    });
  }

  /** The public methods that nobody called. */
  missing() {
    const all = [...this.classes].flatMap((each) => methods(each).map((name) => `${each.name}.${name}`));
    return all.filter((name) => !INTERNAL.has(name) && !this.called.has(name));
  }

  /** A callback of the suite gets watched objects. */
  #callback(arg) {
    const isCallback = typeof arg === "function" && !this.classes.has(arg);
    return isCallback ? (...given) => arg(...given.map((object) => this.watch(object))) : arg;
  }
}

function methods(of) {
  const { constructor: _, ...described } = Object.getOwnPropertyDescriptors(of.prototype);
  return Object.keys(described).filter((name) => typeof described[name].value === "function" && !name.startsWith("_"));
}

module.exports = { Recorder };
