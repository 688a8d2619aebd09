import CLinux

/// The properties of a service, asked for whenever it says that some have changed.
///
/// The values in its signals are not read: there is one way by which values come, and a flood of signals costs one
/// question per `spacing`.
final class PropertyWatch {
    private static let spacing: Int64 = 100_000_000
    /// After this time, a service that has not answered, or not with properties, is asked again.
    private static let retry: Int64 = 60_000_000_000

    /// Empty if the service is not there or gives no answer.
    private(set) var values: [String: BusValue] = [:]
    private let service: BusService
    /// Set by whoever wants to know that the values may have changed.
    var changed: () -> Void = {}
    private var question: BusSlot?
    private var askedAt = -spacing
    private var due: Int64?
    private var isAnswered = false

    /// When `ask` has something to do, in nanoseconds of the monotonic clock.
    var next: Int64? { question == nil ? due : nil }
    /// Whether the service has said its values, or is not there.
    var isSettled: Bool { service.isSettled && (service.owner == nil || isAnswered) }

    /// - Parameter name: of the service, and of the interface that has the properties.
    init(_ name: String, _ path: String) {
        service = BusService(name, path)
        service.changed = { [unowned self] in
            (question, due, isAnswered) = (nil, nil, false)
            if service.owner != nil { askSoon() }
            become([:])
        }
    }

    func watch(on connection: BusConnection) {
        let rule = "interface='org.freedesktop.DBus.Properties',member='PropertiesChanged',arg0='\(service.name)'"
        service.watch(on: connection, signal: rule) { [unowned self] _ in askSoon() }
    }

    func leave() { service.leave() }

    private func askSoon() { due = min(due ?? .max, max(dld_monotonic_nanoseconds(), askedAt + Self.spacing)) }

    /// Asks if that is due.
    func ask(_ now: Int64) {
        guard let next, next <= now else { return }
        due = nil
        askedAt = now
        question = service.call("org.freedesktop.DBus.Properties", "GetAll", [.text(service.name)]) {
            [unowned self] answer in
            question = nil
            isAnswered = true
            let properties = answer.errorNumber == 0 ? answer.properties() : nil
            if properties == nil { due = min(due ?? .max, askedAt + Self.retry) }
            become(properties ?? [:])
        }
        if question == nil { due = now + Self.retry }
    }

    private func become(_ new: [String: BusValue]) {
        values = new
        changed()
    }
}
