import ArgumentParser
import TransferModel
import TransferRPC

struct UploadCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "upload",
        abstract: "Queue uploads and print their ids.",
        discussion: """
            The last argument is the URL the files go to. Without --protocol, dld asks the server how it accepts uploads. \
            With tus, resumable uploads, post and multipart, the server names each file. Otherwise a URL that ends in \
            / is a folder, in which files keep their names. The command returns when the tasks are stored; they \
            continue without it, and resume at the offset the server reports. Do not change the files until they are \
            sent. Standard input cannot be sent, because it cannot be read twice.

            EXAMPLES:
              dlctl upload video.mp4 https://example.org/files/
              dlctl upload -w --protocol tus big.iso https://tus.example.org/files/
              dlctl upload --protocol multipart --form photo --field album=42 *.jpg https://example.org/form
              dlctl upload -w report.pdf sftp://me@example.org/~/reports/
            """)

    @Argument(help: .init("The files, then the URL they go to.", valueName: "file-or-url"), completion: .file())
    var arguments: [String]

    @Flag(name: [.short, .long], help: "Wait and show progress; the exit status shows how it ended.")
    var wait = false

    @OptionGroup(title: "Sending") var sending: SendingOptions
    @OptionGroup(title: "Scheduling") var scheduling: SchedulingOptions
    @OptionGroup(title: "Request") var request: RequestOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        if arguments.count < 2 { throw ValidationError("Name at least one file, then the URL it goes to.") }
    }

    func run(_ session: CommandSession) async throws {
        var plan = UploadPlan(
            files: Array(arguments.dropLast()), url: arguments.last ?? "", currentFolder: session.currentFolder)
        scheduling.apply(to: &plan.template)
        try sending.apply(to: &plan.template)
        plan.clientToken = scheduling.clientToken
        // Checks the arguments before the user is asked for a password.
        _ = try plan.specs()
        try Secrets(session: session).apply(request, to: &plan.template)
        let specs = try plan.specs()
        let client = try await session.connect()
        try await Submission(specs: specs, session: scheduling.session, waits: wait).run(client, session)
    }
}

/// Options of `upload` that control how files are sent.
struct SendingOptions: ParsableArguments {
    @Option(
        "How to send over http: auto, put, post, multipart, tus, resumable, contentRange or s3Multipart.", "protocol",
        long: "protocol",
        completion: .list(["auto", "put", "post", "multipart", "tus", "resumable", "contentRange", "s3Multipart"]))
    var uploadProtocol: String?

    @Option("HTTP method, if not the usual one.", "method", short: "X")
    var method: String?

    @Option("multipart: name of the form's field for the file.", "field")
    var form: String?

    @Option("multipart: another field; may be repeated.", "name=value")
    var field: [String] = []

    @Option("Name to tell the server, or to give the file in a folder.", "name")
    var fileName: String?

    @Option("Media type of the file.", "type")
    var contentType: String?

    @Option("tus: metadata; may be repeated.", "key=value")
    var metadata: [String] = []

    @Option("resumable: version of the draft: 3, 5, 6 or 8.", "n")
    var interopVersion: Int?

    @Flag(help: "resumable: send data with the creation request.")
    var optimistic = false

    @Option(
        "Send a digest with the file: md5, sha-1, sha-256, sha-384 or sha-512.", "alg",
        completion: .list(["md5", "sha-1", "sha-256", "sha-384", "sha-512"]))
    var sendChecksum: String?

    @Option(
        "s3Multipart: JSON file with partURLs, partSize, completeURL and optionally abortURL.", "file",
        completion: .file())
    var s3: String?

    func validate() throws {
        for text in field where Assignment(text) == nil {
            throw ValidationError("--field: '\(Printable.text(text, limit: 40))' is not NAME=VALUE.")
        }
        for text in metadata where Assignment(text) == nil {
            throw ValidationError("--metadata: '\(Printable.text(text, limit: 40))' is not KEY=VALUE.")
        }
        if let sendChecksum, DigestAlgorithm(typed: sendChecksum) == nil {
            throw ValidationError("--send-checksum: '\(Printable.text(sendChecksum, limit: 40))' is not an algorithm.")
        }
    }

    func apply(to spec: inout TaskSpec) throws {
        spec.uploadProtocol = uploadProtocol ?? (form != nil || !field.isEmpty ? "multipart" : nil)
        spec.method = method
        spec.formField = form
        spec.formFields = Assignment.pairs(field)
        spec.fileName = fileName
        spec.contentType = contentType
        spec.uploadMetadata = Assignment.pairs(metadata)
        spec.interopVersion = interopVersion
        if optimistic { spec.uploadCreation = "optimistic" }
        spec.uploadChecksum = sendChecksum.flatMap { DigestAlgorithm(typed: $0) }
        if let s3 {
            spec.s3 = try S3Upload.read(s3)
            spec.uploadProtocol = uploadProtocol ?? "s3Multipart"
        }
    }
}

extension S3Upload {
    /// Reads a file with the presigned URLs of a multipart upload.
    /// - Throws: `CommandFailure.usage` with the file and the member at fault.
    static func read(_ path: String) throws -> S3Upload {
        do {
            return try JSONCoding.decode(S3Upload.self, from: Array(try InputFile.read(path)))
        } catch let error as TransferError {
            throw CommandFailure.usage("\(path): \(error.message)")
        }
    }
}
