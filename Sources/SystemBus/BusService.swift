import Glibc

/// A service of the bus, which comes and goes.
///
/// Calls go to the connection that owns its name, so that they reach nobody else and start nothing, and signals count
/// only if they come from there.
final class BusService {
    let name: String
    let path: String
    /// Set by whoever wants to know that the service has come, has gone, or is another one now. `owner` says so.
    var changed: () -> Void = {}
    /// The unique name of the owner; nil if the service is not there.
    private(set) var owner: String?
    /// Whether it is known that the service is there or not.
    private(set) var isSettled = false
    private var connection: BusConnection?
    private var slots: [BusSlot] = []
    private var question: BusSlot?

    init(_ name: String, _ path: String) {
        self.name = name
        self.path = path
    }

    /// Begins to watch the service, and a signal of it: a match rule without its sender and its path.
    func watch(on connection: BusConnection, signal rule: String, receive: @escaping (BusMessage) -> Void) {
        self.connection = connection
        let driver = BusConnection.driver
        let slots = [
            connection.hear(
                "type='signal',sender='\(driver)',interface='\(driver)',member='NameOwnerChanged',arg0='\(name)'"
            ) { [unowned self] message in
                guard message.sender == driver, message.text() != nil, message.text() != nil else { return }
                become(message.text())
            },
            connection.hear("type='signal',sender='\(name)',path='\(path)',\(rule)") { [unowned self] message in
                if let owner, message.sender == owner { receive(message) }
            },
        ]
        self.slots = slots.compactMap { $0 }
        askForOwner()
    }

    private func askForOwner() {
        let driver = BusConnection.driver
        question = connection?.call(driver, "/org/freedesktop/DBus", driver, "GetNameOwner", [.text(name)]) {
            [unowned self] message in
            // A machine that has just started may be slow.
            if message.errorNumber == ETIMEDOUT { return askForOwner() }
            become(message.errorNumber == 0 ? message.text() : nil)
        }
    }

    /// The connection is lost.
    func leave() {
        connection = nil
        (slots, question) = ([], nil)
        become(nil)
        isSettled = false
    }

    private func become(_ name: String?) {
        owner = name == "" ? nil : name
        isSettled = true
        changed()
    }

    /// - Returns: nil if the service is not there. Whoever drops the slot gets no answer.
    func call(
        _ interface: String, _ member: String, _ arguments: [BusArgument], receive: @escaping (BusMessage) -> Void
    ) -> BusSlot? {
        guard let owner else { return nil }
        return connection?.call(owner, path, interface, member, arguments, receive: receive)
    }
}
