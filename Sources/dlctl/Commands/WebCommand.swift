import ArgumentParser
import TransferClient
import TransferModel
import TransferRPC

struct WebCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "web",
        abstract: "Print a link to the page in which a browser shows and controls tasks.",
        discussion: """
            The link signs one browser in, once, within a minute. The page is served by dld-web, on this machine only; \
            its unit is started if it is enabled.

            EXAMPLES:
              dlctl web --open          open the page
              dlctl web 7               a link that ends at task 7
              dlctl web --revoke all    sign all browsers out
            """)

    @Argument(help: .init("The task with which the page begins.", valueName: "id"), completion: .tasks)
    var id: TaskID?

    @Flag(help: "Open the link in the browser of the desktop, too.")
    var open = false

    @Flag(help: "List the browsers that are signed in.")
    var list = false

    @Option("Sign out this browser of the list, or 'all'.", "session")
    var revoke: String?

    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        if list && (open || id != nil || revoke != nil) || revoke != nil && (open || id != nil) {
            throw ValidationError("--list and --revoke go alone.")
        }
    }

    func run(_ session: CommandSession) async throws {
        let client = try await WebAccess(environment: session.environment, mayStart: !global.noStart).connect()
        do {
            try await run(session.console, client)
            await client.close()
        } catch {
            await client.close()
            throw error
        }
    }

    private func run(_ console: Console, _ client: DaemonClient) async throws {
        if list {
            let found = try await client.call(WebMethods.sessions, WebRequest())
            if console.json { return console.value(found) }
            let rows = (found.sessions ?? []).map { one in
                [
                    StyledText(Printable.text(one.id), .strong), StyledText(LocalTime.text(one.createdAt)),
                    StyledText(LocalTime.text(one.lastUsedAt)),
                ]
            }
            if rows.isEmpty { return console.remark("no browser is signed in") }
            let columns = [
                Table.Column(title: "SESSION", isFlexible: true), .init(title: "SIGNED IN"), .init(title: "LAST USED"),
            ]
            Table(columns, rows).render(width: console.width).forEach(console.line)
        } else if let revoke {
            let result = try await client.call(WebMethods.revoke, WebRequest(session: revoke))
            if console.json { return console.value(result) }
            if result.revoked == 0, revoke != "all" {
                throw CommandFailure.local("no browser is signed in as \(revoke); dlctl web --list names them")
            }
            console.remark("signed out: \(Figures.count(result.revoked ?? 0, "browser"))")
        } else {
            let link = try await client.call(WebMethods.link, WebRequest(fragment: id.map { "/task/\($0)" }))
            guard let url = link.url else { throw CommandFailure.local("dld-web gives no link") }
            if console.json { console.value(link) } else { console.line(url) }
            if open, OtherProgram.open(url) == nil {
                throw CommandFailure.local("xdg-open, which opens links on a desktop, is not installed")
            }
        }
    }
}
