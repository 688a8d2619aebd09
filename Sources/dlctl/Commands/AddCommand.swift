import ArgumentParser
import Metalink
import TransferClient
import TransferModel
import TransferRPC

struct AddCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Queue downloads and print their ids.",
        discussion: """
            Files go to the current folder unless -o, -d or the session names another. The command returns when the \
            tasks are stored; they continue without it. With -w it waits and shows progress.

            A URL may be a pattern, as in curl: [1-10], [01-20], [1-10:2], [a-z] or {a,b,c}. Several patterns give all \
            combinations; the last one varies fastest. In -o, #1 is the value of the first pattern. Quote patterns for \
            the shell. A backslash makes one brace or bracket literal, -g all of them. Lists, mirrors, Metalink \
            documents and data: URLs are not expanded.

            The system daemon saves files in your own folder, which 'info' names, and below it; relative names start \
            there. Files it reads for you (--ca-file, --netrc-file, keys) must be there too.

            A LIST (-i) has one URL a line, followed by its mirrors after tabs, and # comments. Indented lines below a \
            URL set out=, dir=, checksum= and header= for it.

            A Metalink document (version 4 or 3) names files with their mirrors and digests. With digests of pieces, \
            only damaged pieces are fetched again. Files are saved below the folder.

            With a checksum, parts of a large file come from all mirrors at once; a mirror that fails or is slow is \
            dropped. Without one, the next mirror is tried only after a failure, and from the beginning, so versions \
            are never mixed.

            EXAMPLES:
              dlctl add https://example.org/file.iso
              dlctl add -w -o disk.iso --checksum sha-256:9f86d0… URL
              dlctl add -o 'page-#1.jpg' 'https://example.org/scan/[001-250].jpg'
              dlctl add -d ~/Downloads --limit 2M --at 22:30 URL URL
              grep -o 'https://[^"]*' page.html | dlctl add -i - -w
              dlctl fetch https://example.org/image.meta4 | dlctl add -w --metalink -
            """)

    @Argument(help: .init("What to download.", valueName: "url"))
    var urls: [String] = []

    @Flag(
        name: [.customShort("g"), .long],
        help: "Take braces and brackets in URLs literally.")
    var globoff = false

    @Option("Read URLs from this list; - is standard input.", "list", short: "i", long: "input", completion: .file())
    var input: [String] = []

    @Option(
        "Add the files of this Metalink document, with their mirrors and digests; - is standard input.", "file",
        completion: .file())
    var metalink: [String] = []

    @Option(
        "Send the cookies of this file in Netscape format ('-' is standard input), or of firefox[:PROFILE] or chromium[:PROFILE].",
        "source",
        discussion: "Only cookies for the URL's server are sent; they stay with the task. See 'dlctl cookies'.",
        completion: .file())
    var cookies: String?

    @Flag(name: [.short, .long], help: "Wait and show progress; the exit status shows how it ended.")
    var wait = false

    @OptionGroup(title: "Saving") var saving: SavingOptions
    @OptionGroup(title: "Scheduling") var scheduling: SchedulingOptions
    @OptionGroup(title: "Request") var request: RequestOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        if urls.isEmpty, input.isEmpty, metalink.isEmpty, saving.resumeData == nil {
            throw ValidationError("Name a URL, a list with -i, or a --metalink.")
        }
        let readers = [
            input.contains("-"), metalink.contains("-"), request.readsStandardInput, saving.resumeData == "-",
            cookies == "-",
        ].count { $0 }
        if readers > 1 { throw ValidationError("Only one of the options can read standard input.") }
    }

    func run(_ session: CommandSession) async throws {
        let contents = try cookies.map { try read($0, session) }
        var plan = try plan(session)
        plan.cookies = contents?.cookies ?? []
        // Checks the arguments before the user is asked for a password.
        _ = try plan.specs()
        try Secrets(session: session).apply(request, to: &plan.template)
        let client = try await session.connect()
        plan.save(in: try await client.call(Methods.daemonInfo, Nothing()).userDirectory)
        plan.sessionHasDirectory = try await sessionNamesFolder(client)
        let specs = try plan.specs()
        if let cookies, let first = specs.first, first.cookies == nil {
            session.console.remark("\(Printable.text(cookies)) has no cookie for \(TaskName.of(first))")
        }
        if session.currentFolder.isEmpty, let place = specs.first?.destination,
            (place.path ?? place.directory)?.hasPrefix("/") != true
        {
            throw CommandFailure.usage(
                "the current folder \(PathText.currentFault); change to another, or name one: -d /DIR")
        }
        let submission = Submission(specs: specs, session: scheduling.session, waits: wait) { cookie, error in
            if let contents { session.console.complain("skipped: " + contents.refusal(of: cookie, error)) }
        }
        try await submission.run(client, session)
    }

    private func plan(_ session: CommandSession) throws -> AddPlan {
        var plan = AddPlan(urls: urls, usesPatterns: !globoff, currentFolder: session.currentFolder)
        for path in input {
            let bytes = try InputFile.read(path)
            do {
                plan.entries += try ListFile.parse(bytes, file: path == "-" ? "standard input" : path)
            } catch {
                throw CommandFailure.usage(error.description)
            }
        }
        for path in metalink {
            do {
                plan.files += try Metalink(try InputFile.read(path)).files
            } catch let error as MetalinkError {
                let name = path == "-" ? "standard input" : Printable.text(path)
                throw CommandFailure.usage("\(name): \(Printable.text(error.description))")
            }
        }
        scheduling.apply(to: &plan.template)
        plan.template.connections = saving.connections
        if saving.resumeUnproven { plan.template.resumesUnproven = true }
        plan.mirrors = saving.mirror
        plan.output = saving.output
        plan.directory = saving.directory
        plan.checksum = saving.checksum
        plan.conflictPolicy = saving.onConflict
        plan.preserveTime = saving.preserveTime
        plan.clientToken = scheduling.clientToken
        if let path = saving.resumeData {
            plan.resumeData = String(decoding: try InputFile.read(path), as: UTF8.self).filter { !$0.isWhitespace }
        }
        return plan
    }

    /// Reads cookies, and reports the first few that cannot be used.
    private func read(_ source: String, _ session: CommandSession) throws -> CookieSource.Contents {
        let contents = try CookieSource(source).read(session, domain: nil)
        for refusal in contents.refusals.prefix(Self.shownRefusals) { session.console.complain("skipped: " + refusal) }
        if contents.refusals.count > Self.shownRefusals {
            let rest = Figures.count(contents.refusals.count - Self.shownRefusals, "more cookie")
            session.console.complain("and \(rest) of \(Printable.text(source)); 'dlctl cookies import' names all")
        }
        return contents
    }

    private static let shownRefusals = 5

    private func sessionNamesFolder(_ client: any DaemonCalling) async throws -> Bool {
        guard let name = scheduling.session, saving.output == nil, saving.directory == nil else { return false }
        let view = try await client.call(Methods.getSession, SessionReference(id: name))
        return view.configuration.directory != nil || view.configuration.directories?.isEmpty == false
    }
}
