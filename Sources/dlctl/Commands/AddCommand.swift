import ArgumentParser
import Metalink
import TransferClient
import TransferModel
import TransferRPC

struct AddCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Queue downloads; print their ids.",
        discussion: """
            Files go to the current folder unless -o, -d or the session says otherwise. The command answers when the \
            tasks are stored; they continue without it. With -w it stays and shows progress.

            A URL may stand for several, as in curl: [1-10], [01-20], [1-10:2], [a-z] or {a,b,c}. With several of \
            these it is all combinations, and the last one varies fastest. In -o, #1 is what the first one stands \
            for. Quote such URLs for the shell. A backslash before a brace or bracket takes that one as it is, -g all \
            of them. In lists, mirrors, Metalink documents and data: URLs nothing is expanded.

            The system's daemon saves in your own folder below its files, which 'info' names, and in folders of it: \
            relative names mean that one. What it is to read (--ca-file, --netrc-file, keys) has to be there too.

            A LIST (-i) has one URL a line, its mirrors behind tabs, and # comments. Indented lines below a URL set \
            out=, dir=, checksum= and header= for it.

            A Metalink document (version 4 or 3) names files with their mirrors and digests, also of pieces: only \
            damaged pieces are fetched again. Its names stay below the folder.

            With a checksum, parts of the file come from all mirrors at once; a mirror that fails or is slow is \
            dropped. Without one, the next mirror is tried only after a failure, from the beginning: two versions are \
            never mixed.

            EXAMPLES:
              dlctl add https://example.org/file.iso
              dlctl add -w -o disk.iso --checksum sha-256:9f86d0… URL
              dlctl add -o 'page-#1.jpg' 'https://example.org/scan/[001-250].jpg'
              dlctl add -d ~/Downloads --limit 2M --at 22:30 URL URL
              grep -o 'https://[^"]*' page.html | dlctl add -i - -w
              dlctl fetch https://example.org/image.meta4 | dlctl add -w --metalink -
            """)

    @Argument(help: ArgumentHelp("What to download.", valueName: "url"))
    var urls: [String] = []

    @Flag(
        name: [.customShort("g"), .long],
        help: "Take braces and brackets in URLs as they are.")
    var globoff = false

    @Option(
        name: [.customShort("i", allowingJoined: true), .customLong("input")],
        help: ArgumentHelp("Read URLs from this list; - is standard input.", valueName: "list"), completion: .file())
    var input: [String] = []

    @Option(
        help: ArgumentHelp(
            "Add the files of this Metalink document, with their mirrors and digests; - is standard input.",
            valueName: "file"), completion: .file())
    var metalink: [String] = []

    @Flag(name: [.short, .long], help: "Show progress and wait; the exit status tells how it ended.")
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
        ].count { $0 }
        if readers > 1 { throw ValidationError("Only one of the options can read standard input.") }
    }

    func run(_ session: CommandSession) async throws {
        var plan = try plan(session)
        // What is wrong with the arguments is said before anybody is asked for a password.
        _ = try plan.specs()
        try Secrets(session: session).apply(request, to: &plan.template)
        let client = try await session.connect()
        plan.save(in: try await client.call(DaemonInfo.self, Nothing()).userDirectory)
        plan.sessionHasDirectory = try await sessionNamesFolder(client)
        let specs = try plan.specs()
        if let place = specs.first?.destination, (place.path ?? place.directory)?.hasPrefix("/") != true,
            WorkingFolder.isGone
        {
            throw CommandFailure.usage("the current folder is gone; go to another, or say where to save: -d /DIR")
        }
        try await Submission(specs: specs, session: scheduling.session, waits: wait).run(client, session)
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
        plan.mirrors = saving.mirror
        plan.output = saving.output
        plan.directory = saving.directory
        plan.checksum = saving.checksum?.checksum
        plan.conflictPolicy = saving.onConflict
        plan.preserveTime = saving.preserveTime
        plan.clientToken = scheduling.clientToken
        if let path = saving.resumeData {
            plan.resumeData = String(decoding: try InputFile.read(path), as: UTF8.self).filter { !$0.isWhitespace }
        }
        return plan
    }

    private func sessionNamesFolder(_ client: any DaemonCalling) async throws -> Bool {
        guard let name = scheduling.session, saving.output == nil, saving.directory == nil else { return false }
        let view = try await client.call(GetSession.self, SessionReference(id: name))
        return view.configuration.directory != nil
    }
}
