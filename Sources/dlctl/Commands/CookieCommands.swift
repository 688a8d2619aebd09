import ArgumentParser
import TransferModel
import TransferRPC

struct CookiesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cookies",
        abstract: "List, import, export and remove the cookies that the daemon keeps for you.",
        discussion: """
            Tasks of a session use your cookies if its httpCookieStorage is 'shared', and the session's own cookies if it is \
            'session'. Other tasks do not share cookies.

            EXAMPLES:
              dlctl session open work httpCookieStorage=shared
              dlctl cookies import cookies.txt --domain example.org
              dlctl cookies list
              dlctl cookies export > cookies.txt
            """,
        subcommands: [List.self, Import.self, Export.self, Remove.self])

    /// The owner of the cookies, and which of them.
    struct Choice: ParsableArguments {
        @Option("Cookies of this session.", "session", short: "s", completion: .sessions)
        var session: String?

        @Option("Only cookies of this domain and the names below it.", "domain")
        var domain: String?
    }

    struct List: DaemonCommand {
        static let configuration = CommandConfiguration(commandName: "list", abstract: "List cookies.")

        @OptionGroup var choice: Choice

        @Flag(help: "Show values too.")
        var secrets = false

        @OptionGroup(title: "Global options") var global: GlobalOptions

        func run(_ session: CommandSession) async throws {
            let query = ListCookies(
                session: choice.session, domain: choice.domain, secrets: secrets ? true : nil)
            try await session.list(Methods.listCookies, query, \.cookies, none: "no cookies", Self.table)
        }

        static func table(_ cookies: [CookieView]) -> Table {
            var table = Table([
                .init(title: "DOMAIN", isFlexible: true), .init(title: "PATH", dispensability: 2),
                .init(title: "NAME"), .init(title: "EXPIRES", dispensability: 1),
                .init(title: "FLAGS", dispensability: 3),
            ])
            let hasValues = cookies.contains { $0.value != nil }
            if hasValues { table.columns.append(.init(title: "VALUE")) }
            table.rows = cookies.map { cookie in
                let flags = [
                    cookie.secure ? "secure" : nil, cookie.httpOnly ? "httpOnly" : nil, cookie.sameSite?.rawValue,
                ]
                let cells = [
                    StyledText((cookie.hostOnly ? "" : ".") + Printable.text(cookie.domain), .strong),
                    StyledText(Printable.text(cookie.path)), StyledText(Printable.text(cookie.name)),
                    StyledText(cookie.expires.map(LocalTime.text) ?? "-"),
                    StyledText(flags.compactMap { $0 }.joined(separator: ",")),
                ]
                return hasValues ? cells + [StyledText(Printable.text(cookie.value ?? ""))] : cells
            }
            return table
        }
    }

    struct Import: DaemonCommand {
        static let configuration = CommandConfiguration(
            commandName: "import", abstract: "Store the cookies of a file in Netscape format, or of a browser.",
            discussion: """
                curl, wget and browser extensions write such files. If a cookie cannot be read, or the daemon refuses it, \
                dlctl skips it, says why, and stores the others. \
                firefox[:PROFILE] and chromium[:PROFILE] are read from a copy of the browser's database, even while the \
                browser runs. PROFILE is a name, or a folder with a slash in it. Firefox does not store cookies that end \
                with its session, and Chromium may encrypt values with a key in the desktop's keyring, which dlctl does not use.
                """)

        @Argument(
            help: .init(
                "The file, '-' for standard input, or firefox[:PROFILE], chromium[:PROFILE].", valueName: "source"),
            completion: .file())
        var source: String

        @OptionGroup var choice: Choice

        @OptionGroup(title: "Global options") var global: GlobalOptions

        func run(_ session: CommandSession) async throws {
            let contents = try CookieSource(source).read(session, domain: choice.domain)
            var report = Report(contents, session)
            let chosen = contents.cookies.filter { Cookie.isWithin($0.domain, choice.domain) }
            if !chosen.isEmpty || contents.refusals.isEmpty {
                let client = try await session.connect()
                for start in stride(from: 0, to: chosen.count, by: Bounds.cookies) {
                    let some = chosen[start..<min(start + Bounds.cookies, chosen.count)]
                    try await store(Array(some), contents, session, client, &report)
                }
                await client.close()
            }
            if session.console.json { session.console.value(report.json) }
            if report.set == 0, !report.reasons.isEmpty { throw CommandFailure.local("no cookie was imported") }
            if !session.console.json { session.console.remark(report.text) }
        }

        /// Stores cookies in one call. If the daemon refuses one, it is reported with the reason, and the others are
        /// sent again.
        private func store(
            _ cookies: [Cookie], _ contents: CookieSource.Contents, _ session: CommandSession,
            _ client: any DaemonCalling, _ report: inout Report
        ) async throws {
            var rest = cookies
            while !rest.isEmpty {
                do {
                    report.add(try await client.call(Methods.setCookies, .init(session: choice.session, cookies: rest)))
                    return
                } catch let error as TransferError where error.code == .badField {
                    let field = error.details["field"]?.stringValue ?? ""
                    guard let index = Cookie.index(in: field), rest.indices.contains(index) else { throw error }
                    report.leaveOut(contents.refusal(of: rest.remove(at: index), error), session)
                }
            }
        }
    }

    /// What became of the cookies that were to be imported.
    struct Report {
        /// Stored, or stored before just as they are.
        private(set) var set = 0
        private var replaced = 0
        private var unchanged = 0
        private var evicted = 0
        private var expired: Int
        private var refused: Int
        /// One sentence for each cookie that was left out.
        private(set) var reasons: [String]

        /// - Parameter contents: what it says of cookies that cannot be imported is shown.
        init(_ contents: CookieSource.Contents, _ session: CommandSession) {
            reasons = contents.refusals
            expired = contents.expired
            refused = reasons.count - expired
            for reason in reasons { Self.tell(reason, session) }
        }

        mutating func leaveOut(_ reason: String, _ session: CommandSession) {
            reasons.append(reason)
            refused += 1
            Self.tell(reason, session)
        }

        /// With `--json`, the report has all reasons.
        private static func tell(_ reason: String, _ session: CommandSession) {
            if !session.console.json { session.console.complain("skipped: " + reason) }
        }

        mutating func add(_ result: StoredCookies) {
            set += result.set - (result.expired ?? 0)
            expired += result.expired ?? 0
            replaced += result.replaced ?? 0
            unchanged += result.unchanged ?? 0
            evicted += result.evicted ?? 0
        }

        var json: JSONValue {
            let counts = [
                "set": set, "new": set - replaced - unchanged, "replaced": replaced, "unchanged": unchanged,
                "evicted": evicted, "expired": expired, "refused": refused,
            ]
            var all = counts.mapValues { JSONValue.integer(Int64($0)) }
            all["reasons"] = .array(reasons.map(JSONValue.string))
            return .object(all)
        }

        /// One line that names what is not zero.
        var text: String {
            func list(_ counts: [(Int, String)]) -> String {
                let some = counts.filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }.joined(separator: ", ")
                return some.isEmpty ? "" : ": " + some
            }
            let new = set - replaced - unchanged
            var text = "\(Figures.count(set, "cookie")) imported"
            text += list([(new, "new"), (replaced, "replaced"), (unchanged, "unchanged")])
            if expired + refused > 0 {
                text += "; \(expired + refused) skipped" + list([(expired, "expired"), (refused, "refused")])
            }
            if evicted > 0 { text += "; \(evicted) gave way to others, because there are too many" }
            return text
        }
    }

    struct Export: DaemonCommand {
        static let configuration = CommandConfiguration(
            commandName: "export", abstract: "Print cookies in Netscape format, with their values.",
            discussion: """
                The format cannot hold a tab in a name, value or path. dlctl skips such a cookie and says so; --json prints it.
                """)

        @OptionGroup var choice: Choice

        @OptionGroup(title: "Global options") var global: GlobalOptions

        func run(_ session: CommandSession) async throws {
            let result = try await session.call(
                Methods.listCookies, .init(session: choice.session, domain: choice.domain, secrets: true))
            if session.console.json { return session.console.value(result) }
            var cookies = result.cookies.map(Cookie.init)
            for cookie in cookies where !NetscapeCookies.canHold(cookie) {
                session.console.complain(
                    "skipped: \(Printable.text(cookie.domain)) \(Printable.text(cookie.name)): it has a tab, which this "
                        + "format cannot hold; --json prints it")
            }
            cookies.removeAll { !NetscapeCookies.canHold($0) }
            let text = NetscapeCookies.text(cookies)
            session.console.raw(session.console.outputIsTerminal ? Printable.lines(text) : text)
        }
    }

    struct Remove: DaemonCommand {
        static let configuration = CommandConfiguration(
            commandName: "remove", abstract: "Remove the cookies that match every option.")

        @OptionGroup var choice: Choice

        @Option("Only cookies with exactly this path.", "path")
        var path: String?

        @Option("Only cookies with this name.", "name")
        var name: String?

        @Flag(help: "Remove all cookies.")
        var all = false

        @OptionGroup(title: "Global options") var global: GlobalOptions

        func validate() throws {
            guard all != (choice.domain != nil || path != nil || name != nil) else {
                throw ValidationError("Say which: --domain, --path or --name, or else --all.")
            }
        }

        func run(_ session: CommandSession) async throws {
            let which = RemoveCookies(
                session: choice.session, domain: choice.domain, path: path, name: name)
            try await session.tell(Methods.removeCookies, which) { "\(Figures.count($0.removed, "cookie")) removed" }
        }
    }
}

extension Cookie {
    /// Tells whether a domain is `wanted` or a name below it. If `wanted` is nil, all domains are.
    static func isWithin(_ domain: String, _ wanted: String?) -> Bool {
        guard let wanted = wanted?.lowercased() else { return true }
        let name = wanted.hasPrefix(".") ? String(wanted.dropFirst()) : wanted
        return domain == name || domain.hasSuffix("." + name)
    }

    /// A cookie that was listed with its value.
    fileprivate init(_ view: CookieView) {
        self = view.cookie
        value = view.value ?? ""
    }
}
