import Glibc
import Logging

/// Makes logind wait before the machine sleeps until transfers are stored, and not sleep while they run, if that is
/// wanted (systemd-inhibit(1), https://systemd.io/INHIBITOR_LOCKS).
///
/// A beginning of sleep that was told is always followed by its end, also if logind or the bus is gone meanwhile.
final class SleepWatch {
    private enum State {
        case awake
        /// The observer stores transfers. Sleep may be over before it has finished.
        case preparing(isOver: Bool)
        case asleep
    }

    /// Whether sleep is held off.
    var keepsAwake = false { didSet { block.hold(keepsAwake, by: service) } }
    private var state = State.awake
    private let service = BusService("org.freedesktop.login1", "/org/freedesktop/login1")
    private let delay: Inhibitor
    private let block: Inhibitor
    private let prepare: () -> Void
    private let wake: () -> Void

    /// - Parameters:
    ///   - prepare: begins to store transfers; `prepared` follows.
    ///   - wake: the sleep is over.
    init(prepare: @escaping () -> Void, wake: @escaping () -> Void, logger: Logger) {
        (self.prepare, self.wake) = (prepare, wake)
        delay = Inhibitor("sleep", "delay", "dld stores how far its transfers are", logger)
        block = Inhibitor("idle:sleep", "block", "dld transfers files", logger)
        service.changed = { [unowned self] in
            // Locks and announcements of the logind that has gone count no more.
            for inhibitor in [delay, block] { inhibitor.hold(false, by: service) }
            block.hold(keepsAwake, by: service)
            if case .awake = state { delay.hold(true, by: service) } else { end() }
        }
    }

    func watch(on connection: BusConnection) {
        let rule = "interface='\(Inhibitor.interface)',member='PrepareForSleep'"
        service.watch(on: connection, signal: rule) { [unowned self] message in
            switch message.flag() {
            case true?: begin()
            case false?: end()
            case nil: break
            }
        }
    }

    func leave() { service.leave() }

    private func begin() {
        switch state {
        case .awake:
            state = .preparing(isOver: false)
            prepare()
        case .preparing: state = .preparing(isOver: false)
        case .asleep: break
        }
    }

    /// The observer has stored transfers: the machine may sleep.
    func prepared() {
        guard case .preparing(let isOver) = state else { return }
        state = .asleep
        delay.hold(false, by: service)
        if isOver { end() }
    }

    private func end() {
        switch state {
        case .awake: break
        case .preparing: state = .preparing(isOver: true)
        case .asleep:
            state = .awake
            wake()
            delay.hold(true, by: service)
        }
    }
}

/// A lock of logind, which is held while its descriptor is open (org.freedesktop.login1(5), `Inhibit`).
private final class Inhibitor {
    static let interface = "org.freedesktop.login1.Manager"

    private let arguments: [String]
    private let logger: Logger
    private var question: BusSlot?
    private var descriptor: Int32 = -1
    private var wasRefused = false

    init(_ what: String, _ mode: String, _ why: String, _ logger: Logger) {
        arguments = [what, "dld", why, mode]
        self.logger = logger
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Asks for the lock, or releases it at once. Does nothing if that is done already, or if logind is not there.
    func hold(_ isWanted: Bool, by service: BusService) {
        guard isWanted else {
            question = nil
            if descriptor >= 0 { close(descriptor) }
            descriptor = -1
            return
        }
        guard question == nil, descriptor < 0 else { return }
        question = service.call(Self.interface, "Inhibit", arguments.map { .text($0) }) { [unowned self] answer in
            question = nil
            // logind may ask for permission, and the machine may have just started.
            if answer.errorNumber == ETIMEDOUT { return hold(true, by: service) }
            if answer.errorNumber == 0 { descriptor = answer.descriptor() ?? -1 }
            guard descriptor < 0, !wasRefused else { return }
            wasRefused = true
            logger.info(
                "logind gives no lock", metadata: ["lock": "\(arguments[0])", "error": "\(answer.errorText)"])
        }
    }
}
