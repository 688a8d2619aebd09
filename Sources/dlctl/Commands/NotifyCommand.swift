import ArgumentParser
import FoundationEssentials
import SystemBus
import TransferClient
import TransferModel
import TransferRPC

struct NotifyCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "notify",
        abstract: "Show notifications on the desktop when tasks are done, fail or ask.",
        discussion: """
            Runs until it is stopped; 'systemctl --user enable --now dld-notify.service' runs it with each login. Four or \
            more events within two seconds are shown as one. What happens while it does not run, or while the desktop \
            shows no notifications, is shown later. The first start shows nothing of the past.
            """)

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(_ session: CommandSession) async throws {
        let (inputs, continuation) = AsyncStream.makeStream(of: NotifyLoop.Input.self)
        let desktop = Desktop { continuation.yield(.desktop($0)) }
        let first = try await session.connect()
        desktop.start()
        defer { desktop.stop() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await Self.follow(first, session, continuation) }
            group.addTask {
                var loop = NotifyLoop(desktop: desktop, program: Self.program(global)) { continuation.yield(.due) }
                for await input in inputs { await loop.take(input) }
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    /// Follows across restarts of the daemon.
    private static func follow(
        _ first: any DaemonCalling, _ session: CommandSession, _ inputs: AsyncStream<NotifyLoop.Input>.Continuation
    ) async throws {
        let query = Subscribe(subscriber: NotifyLoop.subscriber, types: DesktopNote.types, progressInterval: 0)
        var client: (any DaemonCalling)? = first
        var outage = Outage()
        while !Task.isCancelled {
            if let client {
                do {
                    let (head, events) = try await client.follow(query)
                    outage = Outage()
                    inputs.yield(.linked(client, head: head))
                    let pulse = Pulse(client)
                    defer { pulse.cancel() }
                    for try await event in events { inputs.yield(.event(event)) }
                    try await pulse.requireAnswer()
                } catch let error as ClientError where !error.isSilence {
                    // The daemon is gone. It sends again what is not acknowledged.
                } catch let error as TransferError where error.code == .shuttingDown {
                    // The daemon has announced that it is going.
                }
                await client.close()
                session.console.remark("waiting for the daemon")
            }
            try await outage.pass()
            client = try await session.access.reconnect(to: first.socketPath, outage)
        }
    }

    /// The words that call this program for the same daemon.
    private static func program(_ global: GlobalOptions) -> [String] {
        let own = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        return [own ?? "dlctl"] + global.words
    }
}

/// Decides what is shown when, and acknowledges what was shown.
struct NotifyLoop {
    enum Input: Sendable {
        /// The daemon sends events from now on, from the first that is not acknowledged.
        case linked(any DaemonCalling, head: SequenceNumber)
        case event(EventView)
        /// Events have waited long enough for others.
        case due
        case desktop(Desktop.News)
    }

    /// A note, and what its buttons are for.
    private struct Page {
        var note: Desktop.Note
        var last: SequenceNumber?
        var task: TaskID?
        var file: String?
    }

    static let subscriber = "dlctl-notify"
    /// After this time a server that has refused a note is asked again.
    private static let retry = Duration.seconds(30)
    /// Of so many notes the buttons work.
    private static let remembered: Int64 = 1000

    private let desktop: Desktop
    private let program: [String]
    private let alarm: @Sendable () -> Void
    private var client: (any DaemonCalling)?
    private var bundle = NoteBundle()
    private var isDue = false
    private var pages: [Page] = []
    /// Whether the server has the first of `pages` and has not answered yet.
    private var isSent = false
    private var number: Int64 = 0
    private var shown: [Int64: Page] = [:]
    /// The last event that the user was shown.
    private var last: SequenceNumber?

    /// - Parameters:
    ///   - program: the words that call dlctl.
    ///   - alarm: puts `due` into the inputs.
    init(desktop: Desktop, program: [String], alarm: @escaping @Sendable () -> Void) {
        (self.desktop, self.program, self.alarm) = (desktop, program, alarm)
    }

    mutating func take(_ input: Input) async {
        switch input {
        case .linked(let client, let head):
            self.client = client
            (bundle, isDue) = (NoteBundle(), false)
            pages = Array(pages.prefix(isSent ? 1 : 0))
            // The numbers of another store say nothing.
            if let last, head < last { self.last = nil }
            await acknowledge()
        case .event(let event):
            if let known = isSent ? pages[0].last : last, let sequence = event.sequence, sequence <= known { return }
            if bundle.isEmpty { remind(in: NoteBundle.window) }
            bundle.add(event)
        case .due:
            isDue = true
            await show()
        case .desktop(.ready): await show()
        case .desktop(.taken(let number)):
            guard isSent, number == self.number else { return }
            isSent = false
            let page = pages.removeFirst()
            shown[number] = page
            shown[number - Self.remembered] = nil
            last = page.last ?? last
            await acknowledge()
            await show()
        case .desktop(.refused(let number, _)):
            guard isSent, number == self.number else { return }
            isSent = false
            remind(in: Self.retry)
        case .desktop(.chosen(let number, let key)): act(key, on: shown[number])
        }
    }

    private func remind(in pause: Duration) {
        let alarm = alarm
        Task {
            try await Task.sleep(for: pause)
            alarm()
        }
    }

    private mutating func show() async {
        guard !isSent else { return }
        if pages.isEmpty, isDue {
            pages = await turned(bundle)
            (bundle, isDue) = (NoteBundle(), false)
        }
        guard let page = pages.first else { return }
        number += 1
        isSent = true
        desktop.show(page.note, as: number)
    }

    private func turned(_ bundle: NoteBundle) async -> [Page] {
        var names: [String] = []
        for event in bundle.events { names.append(await name(of: event)) }
        if bundle.isOne {
            return [Page(note: DesktopNote.of(bundle.counts, names: names), last: bundle.last)]
        }
        return zip(bundle.events, names).map { event, name in
            Page(note: DesktopNote.of(event, name: name), last: event.sequence, task: event.task, file: event.file)
        }
    }

    /// Questions do not name their task; the daemon does.
    private func name(of event: EventView) async -> String {
        let url = event["url"]?.stringValue
        if event.file == nil, url == nil, let task = event.task,
            let view = try? await client?.call(Methods.getTask, GetTask(id: task))
        {
            return TaskName.of(view)
        }
        guard event.file != nil || url != nil else { return "task \(event.task?.description ?? "?")" }
        return TaskName.of(file: event.file, destination: nil, suggested: nil, url: url, description: nil)
    }

    /// If the daemon is away, this is repeated when it has returned.
    private func acknowledge() async {
        guard let last else { return }
        _ = try? await client?.call(
            Methods.acknowledgeEvents, AcknowledgeEvents(subscriber: Self.subscriber, sequence: last))
    }

    private func act(_ key: String, on page: Page?) {
        guard let page, let action = DesktopNote.Action(rawValue: key) else { return }
        switch action {
        case .open: reap(page.file.flatMap(OtherProgram.open))
        case .folder: if let file = page.file { desktop.openFolder(of: URL(filePath: file).absoluteString) }
        case .details:
            reap(OtherProgram(program + ["web"] + (page.task.map { ["\($0)"] } ?? []) + ["--open"]))
        }
    }

    private func reap(_ program: OtherProgram?) { if let program { Task { await program.succeeds() } } }
}
