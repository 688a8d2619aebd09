import ArgumentParser
import TransferModel
import TransferRPC

struct SessionCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "session",
        abstract: "Groups of tasks with their own settings.",
        discussion: """
            The session 'shared' always exists. Settings have the names of the protocol:
              directory, directories, conflictPolicy, maximumConcurrentTasks,
              downloadRateLimit, proxy, interface, allowsArbitraryLoads,
              timeoutIntervalForRequest, timeoutIntervalForResource, schedule,
              retry, subscriber, launch
            and others.

            EXAMPLES:
              dlctl session open podcasts directory=~/Podcasts downloadRateLimit=1M
              dlctl session set podcasts 'schedule=[{"begin":"01:00","end":"06:00"}]'
              dlctl session set podcasts 'retry={"attempts":3,"firstDelay":5}'
              dlctl add -s podcasts URL
            """,
        subcommands: [
            Open.self, List.self, Show.self, Set.self, Pause.self, Resume.self, Finish.self, Invalidate.self,
        ])

    struct Open: DaemonCommand {
        static let configuration = CommandConfiguration(
            commandName: "open",
            abstract: "Create a session, or change the settings of an existing one.")

        @Argument(help: .init("Name of the session.", valueName: "session"), completion: .sessions)
        var id: String

        @Argument(help: .init("Settings of the session.", valueName: "name=value"))
        var settings: [String] = []

        @OptionGroup(title: "Global options") var global: GlobalOptions

        func run(_ session: CommandSession) async throws {
            var configuration: SessionConfiguration?
            if !settings.isEmpty { configuration = try SessionConfiguration.change(settings, session) }
            if let setting = Assignment(id), Assignment.Form(of: setting.name) != nil {
                throw CommandFailure.usage(
                    "'\(Printable.text(id, limit: 40))' is a setting; name the session before it: dlctl session open NAME \(setting.name)=…"
                )
            }
            let parameters = OpenSession(id: id, configuration: configuration)
            try await session.show(Methods.openSession, parameters, \.lines)
        }
    }

    struct List: DaemonCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "List sessions.", aliases: ["ls"])
        @OptionGroup var owner: OwnerOptions
        @OptionGroup(title: "Global options") var global: GlobalOptions

        func run(_ session: CommandSession) async throws {
            var query = ListSessions(owner: owner.scope)
            var sessions: [SessionView] = []
            try await session.withDaemon { client in
                repeat {
                    let page = try await client.call(Methods.listSessions, query)
                    sessions += page.sessions
                    query.cursor = page.nextCursor
                } while query.cursor != nil
            }
            if session.console.json { return session.console.value(ListedSessions(sessions: sessions)) }
            Self.table(sessions).render(width: session.console.width).forEach(session.console.line)
        }

        private static func table(_ sessions: [SessionView]) -> Table {
            Table(
                [
                    .init(title: "SESSION", isFlexible: true), .init(title: "STATE"),
                    .init(title: "RUNNING", alignsRight: true, dispensability: 2),
                    .init(title: "QUEUED", alignsRight: true, dispensability: 3),
                    .init(title: "DONE", alignsRight: true, dispensability: 4),
                    .init(title: "FAILED", alignsRight: true, dispensability: 1),
                    .init(title: "OWNER", alignsRight: true, dispensability: 6),
                    .init(title: "UNSEEN", alignsRight: true, dispensability: 5),
                ],
                sessions.map { session in
                    func count(_ states: TaskState...) -> StyledText {
                        StyledText(String(states.reduce(0) { $0 + (session.tasks[$1.rawValue] ?? 0) }))
                    }
                    return [
                        StyledText(Printable.text(session.id), .strong),
                        StyledText(session.standing, session.state == .active ? .plain : .faint),
                        count(.running), count(.queued, .waiting, .paused), count(.completed), count(.failed),
                        StyledText(session.owner.description), StyledText(String(session.unacknowledgedEvents)),
                    ]
                })
        }
    }

    struct Show: SessionStep {
        static let method = Methods.getSession
        static let configuration = CommandConfiguration(
            commandName: "show", abstract: "Show a session with its settings and counts.")
        @OptionGroup var name: SessionName
        @OptionGroup(title: "Global options") var global: GlobalOptions
    }

    struct Set: DaemonCommand {
        static let configuration = CommandConfiguration(
            commandName: "set",
            abstract: "Change settings of a session; 'name=default' unsets one.")

        @Argument(help: .init("Name of the session.", valueName: "session"), completion: .sessions)
        var id: String

        @Argument(help: .init("Settings to change.", valueName: "name=value"))
        var settings: [String]

        @OptionGroup(title: "Global options") var global: GlobalOptions

        func run(_ session: CommandSession) async throws {
            // Checked first, because opening would create a session for a misspelt name.
            guard try await session.call(Methods.getSession, SessionReference(id: id)).state != .invalidated else {
                throw TransferError(
                    .sessionInvalidated, "The session \"\(id)\" has ended and has no settings to change.",
                    details: ["session": .string(id)])
            }
            let change = try SessionConfiguration.change(settings, session)
            let parameters = OpenSession(id: id, configuration: change)
            try await session.show(Methods.openSession, parameters, \.lines)
        }
    }

    struct Pause: SessionStep {
        static let method = Methods.pauseSession
        static let configuration = CommandConfiguration(
            commandName: "pause",
            abstract: "Run none of its tasks, including later ones, until 'session resume'.")
        @OptionGroup var name: SessionName
        @OptionGroup(title: "Global options") var global: GlobalOptions
    }

    struct Resume: SessionStep {
        static let method = Methods.resumeSession
        static let configuration = CommandConfiguration(
            commandName: "resume",
            abstract: "Let its tasks run again; tasks that were paused one by one stay paused.")
        @OptionGroup var name: SessionName
        @OptionGroup(title: "Global options") var global: GlobalOptions
    }

    struct Finish: SessionStep {
        static let method = Methods.finishSession
        static let configuration = CommandConfiguration(
            commandName: "finish",
            abstract: "Accept no more tasks, and end after the last one.")
        @OptionGroup var name: SessionName
        @OptionGroup(title: "Global options") var global: GlobalOptions
    }

    struct Invalidate: SessionStep {
        static let method = Methods.invalidateSession
        static let configuration = CommandConfiguration(
            commandName: "invalidate", abstract: "Cancel the session's tasks and end it.")
        @OptionGroup var name: SessionName
        @OptionGroup(title: "Global options") var global: GlobalOptions
    }
}

struct SessionName: ParsableArguments {
    @Argument(help: .init("Name of the session.", valueName: "session"), completion: .sessions)
    var id: String
}

/// A command that performs one action on a session, or none, and shows the session.
protocol SessionStep: DaemonCommand {
    static var method: Method<SessionReference, SessionView> { get }
    var name: SessionName { get }
}

extension SessionStep {
    func run(_ session: CommandSession) async throws {
        try await session.show(Self.method, SessionReference(id: name.id), \.lines)
    }
}

extension SessionConfiguration {
    /// Sessions of kind `background` have no cache.
    private static let cacheNames: Set = ["urlCache", "requestCachePolicy"]
    /// Paths are made absolute before they are sent.
    private static let pathNames: Set = ["caFile", "directory"]

    /// The change that `name=value` words make.
    /// - Throws: `CommandFailure.usage` for unknown names and wrong values.
    static func change(_ words: [String], _ session: CommandSession) throws -> SessionConfiguration {
        var members: [String: JSONValue] = [:]
        for word in words {
            guard let assignment = Assignment(word) else {
                throw CommandFailure.usage("'\(Printable.text(word, limit: 40))' is not name=value")
            }
            guard let form = Assignment.Form(of: assignment.name) else {
                let known = shape.rows.map(\.name).filter {
                    Assignment.Form(of: $0) != nil && !cacheNames.contains($0)
                }.sorted().joined(separator: ", ")
                throw CommandFailure.usage(
                    "\(Printable.text(assignment.name, limit: 40)): no such setting. Known: \(known)")
            }
            let value = try assignment.parsed(as: form)
            if cacheNames.contains(assignment.name), value != .null {
                throw CommandFailure.usage(
                    "\(assignment.name): only sessions that end with a program's connection have a cache; those that dlctl "
                        + "opens last, and have none")
            }
            members[assignment.name] = pathNames.contains(assignment.name) ? absolute(value, session) : value
        }
        do {
            return try JSONCoding.decode(SessionConfiguration.self, from: JSONCoding.encode(members))
        } catch {
            throw CommandFailure.usage(error.message)
        }
    }

    private static func absolute(_ value: JSONValue, _ session: CommandSession) -> JSONValue {
        guard let path = value.stringValue, !path.isEmpty else { return value }
        if path == "~" || path.hasPrefix("~/"), let home = session.environment["HOME"] {
            return .string(PathText.absolute(String(path.dropFirst(2)), in: home))
        }
        return .string(session.absolute(path))
    }
}

extension SessionView {
    /// A paused session accepts tasks, but runs none.
    fileprivate var standing: String {
        guard paused == true else { return state.rawValue }
        return state == .active ? "paused" : "\(state.rawValue), paused"
    }

    /// The session with its settings.
    fileprivate var lines: [StyledText] {
        var sheet = Sheet()
        sheet.add("session", Printable.text(id), .strong)
        sheet.add("kind", kind.rawValue)
        sheet.add("state", standing)
        sheet.add("owner", "uid \(owner)")
        sheet.add("opened", LocalTime.text(createdAt))
        for state in TaskState.allCases {
            if let count = tasks[state.rawValue], count > 0 { sheet.add(state.rawValue, String(count)) }
        }
        sheet.add("unseen events", String(unacknowledgedEvents))
        let settings = JSONText.value(Console.encode(configuration))?.objectValue ?? [:]
        for (name, value) in settings.sorted(by: { $0.key < $1.key }) {
            sheet.add(name, Printable.text(Assignment.Form(of: name)?.text(value) ?? JSONText.plain(value)))
        }
        return sheet.render()
    }
}
