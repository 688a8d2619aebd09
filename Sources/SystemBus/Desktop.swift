import CLinux
import Glibc
import Threading

/// Shows notifications on the user's desktop and opens folders there, by the services of the session bus
/// (Desktop Notifications Specification; File Manager D-Bus Interface).
///
/// The bus and the services may come and go. Nothing is kept for them: whoever shows a note hears what became of it.
package final class Desktop: Sendable {
    package struct Note: Sendable {
        package var summary: String
        /// Markup: `&`, `<` and `>` are escaped.
        package var body: String
        /// Buttons.
        package var actions: [(key: String, label: String)]

        package init(summary: String, body: String, actions: [(key: String, label: String)] = []) {
            (self.summary, self.body, self.actions) = (summary, body, actions)
        }
    }

    package enum News: Hashable, Sendable {
        /// A server has come, and would take notes.
        case ready
        /// The server has the note of this number.
        case taken(Int64)
        /// There is no server, or it did not take the note.
        case refused(Int64, String)
        /// The user has pressed a button of the note.
        case chosen(Int64, key: String)
    }

    private enum Order {
        case show(Note, Int64)
        case openFolder(of: String)
        case stop
    }

    private static let second: Int64 = 1_000_000_000
    private static let longestPause = 60 * second

    private let orders = Guarded<[Order]>([])
    private let alarm = dld_eventfd_create()
    private let tell: @Sendable (News) -> Void

    /// - Parameter tell: is called on the thread of the bus and must not block.
    package init(tell: @escaping @Sendable (News) -> Void) { self.tell = tell }

    deinit { if alarm >= 0 { close(alarm) } }

    /// Begins, on a thread of its own, until `stop`. Call it once.
    package func start() { if alarm >= 0 { _ = NamedThread.start("dlctl-bus", run) } }

    package func show(_ note: Note, as number: Int64) { order(.show(note, number)) }

    /// Shows the folder of a file, with the file selected.
    /// - Parameter uri: of the file.
    package func openFolder(of uri: String) { order(.openFolder(of: uri)) }

    package func stop() { order(.stop) }

    private func order(_ order: Order) {
        orders.withLock { $0.append(order) }
        dld_eventfd_signal(alarm)
    }

    @Sendable private func run() {
        let server = NotificationServer(tell: tell)
        var connection: BusConnection?
        var (pause, retryAt, now) = (Self.second, Int64.min, dld_monotonic_nanoseconds())
        while true {
            if connection == nil, retryAt <= now {
                connection = BusConnection(.session)
                if let connection {
                    pause = Self.second
                    server.watch(on: connection)
                } else {
                    retryAt = now + pause
                    pause = min(2 * pause, Self.longestPause)
                }
            }
            let taken = orders.withLock { orders in
                defer { orders = [] }
                return orders
            }
            for order in taken {
                switch order {
                case .show(let note, let number): server.show(note, as: number)
                case .openFolder(let uri): server.openFolder(of: uri)
                case .stop: return
                }
            }
            if let open = connection {
                if !open.turn(wake: alarm, until: .max) {
                    connection = nil
                    server.leave()
                    retryAt = dld_monotonic_nanoseconds() + Self.second
                }
            } else {
                BusConnection.wait(-1, 0, alarm, until: retryAt)
            }
            now = dld_monotonic_nanoseconds()
        }
    }
}

/// The server of notifications, as the thread of the bus sees it.
private final class NotificationServer {
    private static let name = "org.freedesktop.Notifications"

    private let service = BusService(name, "/org/freedesktop/Notifications")
    private var connection: BusConnection?
    private let tell: (Desktop.News) -> Void
    /// Numbers of notes by the server's own.
    private var shown: [UInt32: Int64] = [:]
    /// Notes whose answer is awaited.
    private var calls: [Int64: BusSlot] = [:]
    private var folder: BusSlot?
    private var hadServer = false

    init(tell: @escaping (Desktop.News) -> Void) {
        self.tell = tell
        service.changed = { [unowned self] in
            // What was asked before the first server was known is not lost.
            let lost = hadServer ? calls.keys.sorted() : []
            if hadServer { (shown, calls) = ([:], [:]) }
            hadServer = service.owner != nil
            for number in lost { tell(.refused(number, "the server is gone")) }
            if service.owner != nil { tell(.ready) }
        }
    }

    func watch(on connection: BusConnection) {
        self.connection = connection
        service.watch(on: connection, signal: "interface='\(Self.name)'") { [unowned self] message in
            guard let id = message.number(), let number = shown[id] else { return }
            switch message.member {
            case "ActionInvoked"?: if let key = message.text() { tell(.chosen(number, key: key)) }
            case "NotificationClosed"?: shown[id] = nil
            default: break
            }
        }
    }

    func leave() {
        connection = nil
        service.leave()
    }

    func show(_ note: Desktop.Note, as number: Int64) {
        guard service.owner == nil else { return send(note, number) }
        // The bus may know how to start a server.
        let driver = BusConnection.driver
        let call = connection?.call(
            driver, "/org/freedesktop/DBus", driver, "StartServiceByName", [.text(Self.name), .number(0)]
        ) { [unowned self] _ in
            calls[number] = nil
            // The bus refuses to start one that it did not start before, even if it runs.
            if service.owner != nil { return send(note, number) }
            tell(.refused(number, "there is no server of notifications"))
        }
        keep(call, number)
    }

    private func send(_ note: Desktop.Note, _ number: Int64) {
        let call = service.call(
            Self.name, "Notify",
            [
                .text("dld"), .number(0), .text(""), .text(note.summary), .text(note.body),
                .texts(note.actions.flatMap { [$0.key, $0.label] }),
                .noProperties, .integer(-1),
            ]
        ) { [unowned self] answer in
            calls[number] = nil
            guard answer.errorNumber == 0, let id = answer.number() else {
                return tell(.refused(number, answer.errorText))
            }
            shown[id] = number
            tell(.taken(number))
        }
        keep(call, number)
    }

    private func keep(_ call: BusSlot?, _ number: Int64) {
        if let call { calls[number] = call } else { tell(.refused(number, "there is no session bus")) }
    }

    func openFolder(of uri: String) {
        let name = "org.freedesktop.FileManager1"
        folder = connection?.call(
            name, "/org/freedesktop/FileManager1", name, "ShowItems", [.texts([uri]), .text("")], starts: true
        ) { [unowned self] _ in folder = nil }
    }
}
