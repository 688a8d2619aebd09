import ArgumentParser
import FoundationEssentials
import Glibc
import TransferModel

struct BrowserCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "browser",
        abstract: "Take downloads from browsers, by the extensions of Persepolis or Gopeed.",
        discussion: """
            Install the extension from the browser's store; then 'install' makes dld the program that it talks to. What \
            the browser would download is added to the session 'browser', with the cookies that its server would get.

            EXAMPLES:
              dlctl browser install --as gopeed
              dlctl browser status
            """,
        subcommands: [Install.self, Status.self, Remove.self, Host.self])

    struct Install: DaemonCommand {
        static let configuration = CommandConfiguration(
            commandName: "install", abstract: "Tell browsers that dld serves an extension.",
            discussion: """
                Only browsers that have run are told. A manifest of another program is left alone, and named.
                """)

        @Option(name: .customLong("as"), help: "The extension.")
        var host: NativeHost

        @OptionGroup var choice: BrowserOptions
        @OptionGroup(title: "Global options") var global: GlobalOptions

        func run(_ session: CommandSession) async throws {
            let home = try session.home
            let manifests = choice.manifests([host], home: home)
            if manifests.isEmpty {
                let folders = choice.browsers.map { "~/" + $0.folder }.joined(separator: ", ")
                throw CommandFailure.local("there is no browser; looked for \(folders)")
            }
            let foreign = manifests.filter { if case .foreign = $0.standing { true } else { false } }
            let own = manifests.filter { manifest in !foreign.contains { $0.path == manifest.path } }
            if !own.isEmpty {
                try HostManifest.writeScript(of: host, home: home, running: program)
                for manifest in own {
                    try manifest.write()
                    session.console.remark("\(manifest.browser.rawValue): \(Printable.text(manifest.path))")
                }
            }
            if !foreign.isEmpty {
                let paths = foreign.map { "  " + Printable.text($0.path) }.joined(separator: "\n")
                throw CommandFailure.local(
                    "another program serves the extension there; its manifest is left alone. Remove it first:\n\(paths)"
                )
            }
        }

        /// This program, where it is, for the daemon that it was told to use.
        private var program: [String] {
            let own = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
            return [own ?? "dlctl"] + global.words + ["browser", "host", "--as", host.rawValue]
        }
    }

    struct Status: DaemonCommand {
        static let configuration = CommandConfiguration(
            commandName: "status", abstract: "List which browsers have dld for an extension.")

        @OptionGroup var choice: BrowserOptions
        @OptionGroup(title: "Global options") var global: GlobalOptions

        func run(_ session: CommandSession) async throws {
            let manifests = choice.manifests(NativeHost.allCases, home: try session.home)
            let rows = manifests.map { ($0, words(of: $0.standing)) }
            if session.console.json {
                let list = rows.map { manifest, words in
                    JSONValue.object([
                        "as": .string(manifest.host.rawValue), "browser": .string(manifest.browser.rawValue),
                        "state": .string(words.state), "manifest": .string(manifest.path),
                        "path": words.path.map { .string($0) } ?? .null,
                    ])
                }
                return session.console.value(JSONValue.object(["browsers": .array(list)]))
            }
            if rows.isEmpty { return session.console.remark("no browser has run here") }
            let table = Table(
                [
                    .init(title: "AS"), .init(title: "BROWSER"), .init(title: "STATE"),
                    .init(title: "PROGRAM", isFlexible: true),
                ],
                rows.map { manifest, words in
                    [
                        StyledText(manifest.host.rawValue), StyledText(manifest.browser.rawValue, .strong),
                        StyledText(words.state), StyledText(Printable.text(words.path ?? "–")),
                    ]
                })
            table.render(width: session.console.width).forEach(session.console.line)
        }

        private func words(of standing: HostManifest.Standing) -> (state: String, path: String?) {
            switch standing {
            case .absent: ("absent", nil)
            case .installed: ("installed", nil)
            case .foreign(let path): ("foreign", path)
            }
        }
    }

    struct Remove: DaemonCommand {
        static let configuration = CommandConfiguration(
            commandName: "remove", abstract: "Tell browsers that dld serves their extensions no longer.")

        @Option(name: .customLong("as"), help: "Only this extension.")
        var host: NativeHost?

        @OptionGroup var choice: BrowserOptions
        @OptionGroup(title: "Global options") var global: GlobalOptions

        func run(_ session: CommandSession) async throws {
            let home = try session.home
            for host in host.map({ [$0] }) ?? NativeHost.allCases {
                for manifest in choice.manifests([host], home: home) {
                    switch manifest.standing {
                    case .absent: break
                    case .foreign:
                        session.console.remark("left alone, of another program: \(Printable.text(manifest.path))")
                    case .installed:
                        guard unlink(manifest.path) == 0 else {
                            throw CommandFailure.local("\(Printable.text(manifest.path)) cannot be removed")
                        }
                        session.console.remark("removed \(Printable.text(manifest.path))")
                    }
                }
                let users = HostBrowser.allCases.compactMap { HostManifest(host, for: $0, home: home) }
                if !users.contains(where: { $0.standing == .installed }) {
                    unlink(HostManifest.script(of: host, home: home))
                }
            }
        }
    }

    struct Host: DaemonCommand {
        static let configuration = CommandConfiguration(
            commandName: "host", abstract: "Serve an extension. Browsers start it.", shouldDisplay: false)

        @Option(name: .customLong("as"), help: "The extension.")
        var host: NativeHost

        @OptionGroup(title: "Global options") var global: GlobalOptions

        func run(_ session: CommandSession) async throws {
            // A browser that closes its end early is no error.
            signal(SIGPIPE, SIG_IGN)
            let server = BrowserHost(session: session, messages: NativeMessages())
            switch host {
            case .persepolis: try await server.servePersepolis()
            case .gopeed: try await server.serveGopeed()
            }
        }
    }
}

/// Chooses browsers.
struct BrowserOptions: ParsableArguments {
    @Option(
        "Only these browsers, with commas: chromium, chrome, brave, vivaldi, edge, firefox, librewolf.", "browsers")
    var browser: BrowserList?

    var browsers: [HostBrowser] { browser?.browsers ?? HostBrowser.allCases }

    /// Those of browsers that have run.
    func manifests(_ hosts: [NativeHost], home: String) -> [HostManifest] {
        hosts.flatMap { host in browsers.compactMap { HostManifest(host, for: $0, home: home) } }
    }
}

extension CommandSession {
    /// - Throws: `CommandFailure.local` if the user has none.
    fileprivate var home: String {
        get throws {
            guard let home = environment["HOME"], home.hasPrefix("/") else {
                throw CommandFailure.local("HOME is not set")
            }
            return home == "/" ? "" : home
        }
    }
}
