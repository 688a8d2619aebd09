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
        @Option(
            name: [.customShort("s", allowingJoined: true), .long],
            help: ArgumentHelp("Cookies of this session.", valueName: "session"), completion: .sessions)
        var session: String?

        @Option(help: ArgumentHelp("Only cookies of this domain and the names below it.", valueName: "domain"))
        var domain: String?
    }

    struct List: DaemonCommand {
        static let configuration = CommandConfiguration(commandName: "list", abstract: "List cookies.")

        @OptionGroup var choice: Choice

        @Flag(help: "Show values too.")
        var secrets = false

        @OptionGroup(title: "Global options") var global: GlobalOptions

        func run(_ session: CommandSession) async throws {
            let result = try await session.call(
                ListCookies.self, .init(session: choice.session, domain: choice.domain, secrets: secrets ? true : nil))
            if session.console.json { return try session.console.value(result) }
            if result.cookies.isEmpty { return session.console.remark("no cookies") }
            CookieTable.render(result.cookies, width: session.console.width).forEach(session.console.line)
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
            help: ArgumentHelp(
                "The file, '-' for standard input, or firefox[:PROFILE], chromium[:PROFILE].", valueName: "source"),
            completion: .file())
        var source: String

        @OptionGroup var choice: Choice

        @OptionGroup(title: "Global options") var global: GlobalOptions

        func run(_ session: CommandSession) async throws {
            let contents = try CookieSource(source).read(session, domain: choice.domain)
            let refusals = contents.refusals
            for refusal in refusals { session.console.complain("skipped: " + refusal) }
            let chosen = contents.cookies.filter { CookieTable.isWithin($0.domain, choice.domain) }
            if chosen.isEmpty, !refusals.isEmpty { throw CommandFailure.local("no cookie was stored") }
            let client = try await session.connect()
            var stored = 0
            for start in stride(from: 0, to: chosen.count, by: Bounds.cookies) {
                let some = chosen[start..<min(start + Bounds.cookies, chosen.count)]
                stored += try await store(Array(some), contents, session, client)
            }
            await client.close()
            let refused = refusals.count + chosen.count - stored
            if stored == 0, refused > 0 { throw CommandFailure.local("no cookie was stored") }
            if session.console.json { return try session.console.value(["refused": refused, "set": stored]) }
            let skipped = refused > 0 ? ", \(refused) skipped" : ""
            session.console.remark("\(Figures.count(stored, "cookie")) stored\(skipped)")
        }

        /// Stores cookies in one call. If the daemon refuses one, it is reported with the reason, and the others are
        /// sent again.
        /// - Returns: how many were stored.
        private func store(
            _ cookies: [Cookie], _ contents: CookieSource.Contents, _ session: CommandSession,
            _ client: any DaemonCalling
        ) async throws -> Int {
            var rest = cookies
            while !rest.isEmpty {
                do {
                    _ = try await client.call(SetCookies.self, .init(session: choice.session, cookies: rest))
                    return rest.count
                } catch let error as TransferError where error.code == .badField {
                    let field = error.details["field"]?.stringValue ?? ""
                    guard let index = CookieWords.index(in: field), rest.indices.contains(index) else { throw error }
                    session.console.complain(
                        "skipped: " + contents.refusal(of: rest.remove(at: index), error))
                }
            }
            return 0
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
                ListCookies.self, .init(session: choice.session, domain: choice.domain, secrets: true))
            if session.console.json { return try session.console.value(result) }
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

        @Option(help: ArgumentHelp("Only cookies with exactly this path.", valueName: "path"))
        var path: String?

        @Option(help: ArgumentHelp("Only cookies with this name.", valueName: "name"))
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
            let result = try await session.call(
                RemoveCookies.self, .init(session: choice.session, domain: choice.domain, path: path, name: name))
            if session.console.json { return try session.console.value(result) }
            session.console.remark("\(Figures.count(result.removed, "cookie")) removed")
        }
    }
}

extension Cookie {
    /// A cookie that was listed with its value.
    fileprivate init(_ view: CookieView) {
        self.init(
            name: view.name, value: view.value ?? "", domain: view.domain, path: view.path, expires: view.expires,
            secure: view.secure, httpOnly: view.httpOnly, sameSite: view.sameSite, hostOnly: view.hostOnly)
    }
}
