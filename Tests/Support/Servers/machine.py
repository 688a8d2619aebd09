"""NetworkManager, UPower, logind and the desktop's services on a private bus, as a test wants them:
machine.py ADDRESS COMMANDS

Reads commands from the named pipe COMMANDS, one in a line, and says `done LINE` for each; tells every question that it
gets, every lock that it gives, and every lock that is released:

    own network            begins to serve (network, power, login, notifications, files); drop network: ends
    set network Metered u 1
    quietly set …          without a signal
    emit login PrepareForSleep b true, emit notifications ActionInvoked us 1 open
    unicast NAME login PrepareForSleep b true     by another connection, which owns no name
    flood network 1000     says that often that a property has changed
    answers network well   or never, badly (another type), wrongly (an error)
    locks                  the locks that are held
"""
import json
import os
import sys

import dbus
import dbus.bus
import dbus.lowlevel
from dbus.mainloop.glib import DBusGMainLoop
from gi.repository import GLib

SERVICES = {
    "network": ("org.freedesktop.NetworkManager", "/org/freedesktop/NetworkManager", "org.freedesktop.NetworkManager"),
    "power": ("org.freedesktop.UPower", "/org/freedesktop/UPower", "org.freedesktop.UPower"),
    "login": ("org.freedesktop.login1", "/org/freedesktop/login1", "org.freedesktop.login1.Manager"),
    "notifications": (
        "org.freedesktop.Notifications", "/org/freedesktop/Notifications", "org.freedesktop.Notifications"),
    "files": ("org.freedesktop.FileManager1", "/org/freedesktop/FileManager1", "org.freedesktop.FileManager1"),
}
PROPERTIES = "org.freedesktop.DBus.Properties"
DBusGMainLoop(set_as_default=True)


def value(signature, text):
    if signature == "b":
        return dbus.Boolean(text == "true", variant_level=1)
    if signature == "s":
        return dbus.String(text, variant_level=1)
    if signature == "as":
        return dbus.Array([text], signature="s", variant_level=1)
    return {"u": dbus.UInt32, "i": dbus.Int32}[signature](int(text), variant_level=1)


def plain(signature, text):
    return text == "true" if signature == "b" else text if signature == "s" else int(text)


class Machine:
    def __init__(self, address):
        self.bus = dbus.bus.BusConnection(address)
        self.stranger = dbus.bus.BusConnection(address)
        self.properties = {name: {} for name in SERVICES}
        self.answers = {name: "well" for name in SERVICES}
        self.locks = {}
        self.notes = 0
        self.bus.add_message_filter(self.receive)

    def receive(self, connection, message):
        if not isinstance(message, dbus.lowlevel.MethodCallMessage):
            return dbus.lowlevel.HANDLER_RESULT_NOT_YET_HANDLED
        for name, (_, path, interface) in SERVICES.items():
            if message.get_path() == path:
                reply = self.answer(name, interface, message)
                if reply is not None:
                    connection.send_message(reply)
                return dbus.lowlevel.HANDLER_RESULT_HANDLED
        return dbus.lowlevel.HANDLER_RESULT_NOT_YET_HANDLED

    def answer(self, name, interface, message):
        member, arguments = message.get_member(), message.get_args_list()
        if name in ("notifications", "files"):
            print(member, name, json.dumps(arguments), flush=True)
        else:
            print(member, name, *arguments, "for", message.get_sender(), flush=True)
        how = self.answers[name]
        if how == "never":
            return None
        if how == "wrongly":
            return dbus.lowlevel.ErrorMessage(message, "org.freedesktop.DBus.Error.AccessDenied", "not for you")
        reply = dbus.lowlevel.MethodReturnMessage(message)
        if how == "badly":
            reply.append("nonsense", signature="s")
        elif message.get_interface() == PROPERTIES and member == "GetAll" and arguments == [interface]:
            reply.append(dbus.Dictionary(self.properties[name], signature="sv"), signature="a{sv}")
        elif message.get_interface() == interface and member == "Inhibit":
            reply.append(self.lock(arguments), signature="h")
        elif message.get_interface() == interface and member == "Notify" and message.get_signature() == "susssasa{sv}i":
            self.notes += 1
            reply.append(self.notes, signature="u")
        elif message.get_interface() == interface and member == "ShowItems" and message.get_signature() == "ass":
            pass
        else:
            return dbus.lowlevel.ErrorMessage(message, "org.freedesktop.DBus.Error.UnknownMethod", "no such method")
        return reply

    def lock(self, arguments):
        reader, writer = os.pipe()
        text = f"{arguments[0]} {arguments[3]}"
        self.locks[reader] = text

        def released(*_):
            print("released", text, flush=True)
            del self.locks[reader]
            os.close(reader)
            return False

        GLib.io_add_watch(reader, GLib.IO_HUP, released)
        descriptor = dbus.types.UnixFd(writer)
        os.close(writer)
        return descriptor

    def signal(self, name, interface, member, signature, *arguments, to=None):
        message = dbus.lowlevel.SignalMessage(SERVICES[name][1], interface, member)
        message.append(*arguments, signature=signature)
        if to:
            message.set_destination(to)
        (self.stranger if to else self.bus).send_message(message)

    def changed(self, name, key):
        changes = dbus.Dictionary({key: self.properties[name][key]}, signature="sv")
        self.signal(name, PROPERTIES, "PropertiesChanged", "sa{sv}as", SERVICES[name][2], changes, [])

    def obey(self, words):
        if words[0] == "own":
            self.bus.request_name(SERVICES[words[1]][0])
        elif words[0] == "drop":
            self.bus.release_name(SERVICES[words[1]][0])
        elif words[0] == "quietly":
            self.properties[words[2]][words[3]] = value(words[4], " ".join(words[5:]))
        elif words[0] == "set":
            self.obey(["quietly", *words])
            self.changed(words[1], words[2])
        elif words[0] == "emit":
            values = [plain(signature, text) for signature, text in zip(words[3], words[4:])]
            self.signal(words[1], SERVICES[words[1]][2], words[2], words[3], *values)
        elif words[0] == "unicast":
            _, to, name, member, signature, text = words
            self.signal(name, SERVICES[name][2], member, signature, plain(signature, text), to=to)
            # The bus has passed it on when it answers this.
            self.stranger.get_name_owner("org.freedesktop.DBus")
        elif words[0] == "flood":
            key = next(iter(self.properties[words[1]]))
            for _ in range(int(words[2])):
                self.changed(words[1], key)
                # Questions are answered meanwhile.
                GLib.MainContext.default().iteration(False)
        elif words[0] == "answers":
            self.answers[words[1]] = words[2]
        elif words[0] == "locks":
            print("locks", *sorted(self.locks.values()), sep=",", flush=True)
        else:
            raise ValueError(words)


def main():
    machine = Machine(sys.argv[1])
    # Also open for writing, so that it does not end when a writer closes it.
    commands = os.fdopen(os.open(sys.argv[2], os.O_RDWR | os.O_NONBLOCK), buffering=1)

    def read(*_):
        while line := commands.readline():
            machine.obey(line.split())
            machine.bus.flush()
            print("done", line, end="", flush=True)
        return True

    GLib.io_add_watch(commands.fileno(), GLib.IO_IN, read)
    print("ready", machine.bus.get_unique_name(), flush=True)
    GLib.MainLoop().run()


main()
