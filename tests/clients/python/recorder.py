"""Notes which public methods of a client a suite calls, so that one that is never called shows."""

import contextlib
import functools
import inspect


class Recorder:
    def __init__(self, *classes):
        self.classes = classes
        self.patched = []
        self.called = set()

    def patch(self, patched):
        """Notes every method of a class, or function of a module, itself: also where the client alone calls it."""
        self.patched.append(patched)
        for name, method in _methods(patched).items():
            setattr(patched, name, self._noting(f"{patched.__name__}.{name}", method))

    def watch(self, given):
        """The same object; a method that is called through it is noted, a method that it calls itself is not."""
        if isinstance(given, self.classes):
            return _Watched(self, given)
        if isinstance(given, contextlib.AbstractContextManager):
            return self._entering(given)
        return given

    def missing(self):
        """The public methods that nobody called."""
        names = {f"{each.__name__}.{name}" for each in (*self.classes, *self.patched) for name in _methods(each)}
        return names - self.called

    def _noting(self, name, method):
        @functools.wraps(method)
        def noted(*args, **kwargs):
            self.called.add(name)
            return method(*args, **kwargs)

        return noted

    @contextlib.contextmanager
    def _entering(self, manager):
        with manager as entered:
            yield self.watch(entered)


class _Watched:
    def __init__(self, recorder, target):
        self._recorder, self._target = recorder, target

    # The clients ask what their arguments are.
    __class__ = property(lambda self: type(self._target))

    def __getattr__(self, name):
        found = getattr(self._target, name)
        if name not in _methods(type(self._target)):
            return found
        noted = self._recorder._noting(f"{type(self._target).__name__}.{name}", found)
        return lambda *args, **kwargs: self._recorder.watch(noted(*args, **kwargs))


def _methods(of):
    """The public methods that a class itself defines, or the public functions of a module of the client."""
    return {
        name: member
        for name, member in vars(of).items()
        if not name.startswith("_")
        and (inspect.isfunction(member) or isinstance(member, classmethod))
        and (inspect.isclass(of) or member.__module__.startswith(of.__name__))
    }
