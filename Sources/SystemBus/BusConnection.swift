import CLinux
import CSystemd
import Glibc

/// A connection of sd-bus(3). Only one thread may use it.
final class BusConnection {
    /// The bus itself as a service.
    static let driver = "org.freedesktop.DBus"
    /// Within this time an answer must come.
    private static let patience: UInt64 = 10_000_000

    private let bus: OpaquePointer

    enum Place {
        /// DBUS_SYSTEM_BUS_ADDRESS may name another one (sd_bus_open_system(3)).
        case system
        /// That of the user's desktop: DBUS_SESSION_BUS_ADDRESS, else the one in XDG_RUNTIME_DIR.
        case session
        case address(String)
    }

    /// - Returns: nil if nothing listens there.
    init?(_ place: Place) {
        var bus: OpaquePointer?
        switch place {
        case .system: if sd_bus_open_system(&bus) < 0 { bus = nil }
        case .session: if sd_bus_open_user(&bus) < 0 { bus = nil }
        case .address(let address):
            sd_bus_new(&bus)
            sd_bus_set_address(bus, address)
            sd_bus_set_bus_client(bus, 1)
            if sd_bus_start(bus) < 0 { bus = sd_bus_unref(bus) }
        }
        guard let bus else { return nil }
        self.bus = bus
        sd_bus_set_exit_on_disconnect(bus, 0)
    }

    deinit { sd_bus_close_unref(bus) }

    /// Calls a method.
    /// - Parameters:
    ///   - starts: whether the bus may start the service for that.
    ///   - receive: gets the answer; an error too, and ETIMEDOUT if there is none in time.
    /// - Returns: nil if the connection is lost. Whoever drops the slot gets no answer.
    func call(
        _ destination: String, _ path: String, _ interface: String, _ member: String, _ arguments: [BusArgument],
        starts: Bool = false, receive: @escaping (BusMessage) -> Void
    ) -> BusSlot? {
        var message: OpaquePointer?
        guard sd_bus_message_new_method_call(bus, &message, destination, path, interface, member) >= 0 else {
            return nil
        }
        defer { sd_bus_message_unref(message) }
        sd_bus_message_set_auto_start(message, starts ? 1 : 0)
        for argument in arguments { argument.append(to: message) }
        let slot = BusSlot(receive)
        let result = sd_bus_call_async(bus, &slot.raw, message, BusSlot.handler, slot.context, Self.patience)
        return result < 0 ? nil : slot
    }

    /// Receives signals that a match rule describes, until the slot is dropped. Others can send such signals to this
    /// connection alone, whatever the rule says about the sender: look at the message's `sender`.
    func hear(_ rule: String, receive: @escaping (BusMessage) -> Void) -> BusSlot? {
        let slot = BusSlot(receive)
        let result = sd_bus_add_match_async(bus, &slot.raw, rule, BusSlot.handler, nil, slot.context)
        return result < 0 ? nil : slot
    }

    /// Handles one message that has arrived. If there is none, waits for one, for `wake` or for the time `until`.
    /// - Returns: false if the connection is lost.
    func turn(wake: Int32, until: Int64) -> Bool {
        let handled = sd_bus_process(bus, nil)
        guard handled == 0 else { return handled > 0 }
        var own = UInt64.max
        let events = sd_bus_get_events(bus)
        guard events >= 0, sd_bus_get_timeout(bus, &own) >= 0 else { return false }
        let due = own > UInt64(Int64.max / 1000) ? Int64.max : Int64(own) * 1000
        Self.wait(sd_bus_get_fd(bus), Int16(truncatingIfNeeded: events), wake, until: min(due, until))
        return true
    }

    /// Waits for a descriptor, for `wake`, or until a time in nanoseconds of the monotonic clock.
    static func wait(_ descriptor: Int32, _ events: Int16, _ wake: Int32, until: Int64) {
        var watched = [
            pollfd(fd: descriptor, events: events, revents: 0), pollfd(fd: wake, events: Int16(POLLIN), revents: 0),
        ]
        let left = until == .max ? -1 : max(0, until - dld_monotonic_nanoseconds())
        _ = poll(&watched, nfds_t(watched.count), left < 0 ? -1 : Int32(clamping: (left + 999_999) / 1_000_000))
        if watched[1].revents != 0 { dld_eventfd_drain(wake) }
    }
}

/// An argument of a call.
enum BusArgument {
    case text(String)
    case number(UInt32)
    case integer(Int32)
    case texts([String])
    /// A dictionary of properties (`a{sv}`) without any.
    case noProperties

    fileprivate func append(to message: OpaquePointer?) {
        func basic(_ letter: Unicode.Scalar, _ value: UnsafeRawPointer) {
            sd_bus_message_append_basic(message, BusMessage.type(letter), value)
        }
        switch self {
        case .text(let text): basic("s", text)
        case .number(var number): basic("u", &number)
        case .integer(var number): basic("i", &number)
        case .texts(let texts):
            sd_bus_message_open_container(message, BusMessage.type("a"), "s")
            for text in texts { basic("s", text) }
            sd_bus_message_close_container(message)
        case .noProperties:
            sd_bus_message_open_container(message, BusMessage.type("a"), "{sv}")
            sd_bus_message_close_container(message)
        }
    }
}

/// A call that waits for its answer, or a rule in force: until it is dropped.
final class BusSlot {
    fileprivate var raw: OpaquePointer?
    private let receive: (BusMessage) -> Void

    fileprivate init(_ receive: @escaping (BusMessage) -> Void) { self.receive = receive }

    deinit { sd_bus_slot_unref(raw) }

    fileprivate var context: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }

    fileprivate static let handler: sd_bus_message_handler_t = { message, context, _ in
        guard let message, let context else { return 0 }
        // The receiver may drop the slot meanwhile.
        let slot = Unmanaged<BusSlot>.fromOpaque(context).takeUnretainedValue()
        slot.receive(BusMessage(raw: message))
        return 0
    }
}

/// A message that has arrived. It is valid while its receiver runs, and its members are read in their order.
struct BusMessage {
    fileprivate let raw: OpaquePointer

    /// Of the connection that sent it; the bus sees to that. The driver has its well-known name.
    var sender: String? { sd_bus_message_get_sender(raw).map { String(cString: $0) } }
    var member: String? { sd_bus_message_get_member(raw).map { String(cString: $0) } }

    /// 0 if the message is not an error.
    var errorNumber: Int32 { sd_bus_message_get_errno(raw) }
    var errorText: String {
        guard let error = sd_bus_message_get_error(raw)?.pointee else { return "" }
        return [error.name, error.message].compactMap { $0.map { String(cString: $0) } }.joined(separator: ": ")
    }

    /// The next member; nil if it is of another type, or if there is none.
    func text() -> String? {
        var text: UnsafePointer<CChar>?
        guard sd_bus_message_read_basic(raw, Self.type("s"), &text) > 0 else { return nil }
        return text.map { String(cString: $0) }
    }

    func flag() -> Bool? {
        var flag: Int32 = 0
        return sd_bus_message_read_basic(raw, Self.type("b"), &flag) > 0 ? flag != 0 : nil
    }

    func number() -> UInt32? {
        var number: UInt32 = 0
        return sd_bus_message_read_basic(raw, Self.type("u"), &number) > 0 ? number : nil
    }

    /// A copy, which the caller closes.
    func descriptor() -> Int32? {
        var descriptor: Int32 = -1
        guard sd_bus_message_read_basic(raw, Self.type("h"), &descriptor) > 0 else { return nil }
        let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 3)
        return copy < 0 ? nil : copy
    }

    /// The flags, numbers and strings of a dictionary of properties (`a{sv}`); nil if there is no such dictionary.
    func properties() -> [String: BusValue]? {
        guard sd_bus_message_enter_container(raw, Self.type("a"), "{sv}") > 0 else { return nil }
        var properties: [String: BusValue] = [:]
        while true {
            let entered = sd_bus_message_enter_container(raw, Self.type("e"), "sv")
            guard entered != 0 else { return properties }
            guard entered > 0, let name = text(), variant(into: &properties[name]),
                sd_bus_message_exit_container(raw) >= 0
            else { return nil }
        }
    }

    /// - Returns: false if the message is malformed.
    private func variant(into value: inout BusValue?) -> Bool {
        var contents: UnsafePointer<CChar>?
        guard sd_bus_message_peek_type(raw, nil, &contents) > 0, let contents else { return false }
        let type = String(cString: contents)
        guard ["b", "u", "s"].contains(type) else { return sd_bus_message_skip(raw, "v") >= 0 }
        guard sd_bus_message_enter_container(raw, Self.type("v"), type) > 0 else { return false }
        switch type {
        case "b": value = flag().map(BusValue.flag)
        case "u": value = number().map(BusValue.number)
        default: value = text().map(BusValue.text)
        }
        return sd_bus_message_exit_container(raw) >= 0
    }

    fileprivate static func type(_ letter: Unicode.Scalar) -> CChar { CChar(truncatingIfNeeded: letter.value) }
}

/// The value of a property, of the types that matter here.
enum BusValue: Hashable {
    case flag(Bool)
    case number(UInt32)
    case text(String)

    var flag: Bool? { if case .flag(let flag) = self { flag } else { nil } }
    var number: UInt32? { if case .number(let number) = self { number } else { nil } }
    var text: String? { if case .text(let text) = self { text } else { nil } }
}
