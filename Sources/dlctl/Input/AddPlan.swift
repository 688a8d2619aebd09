import TransferClient
import TransferModel

/// Turns what `add` was given into the specs it sends: pure, so that every combination can be tested.
struct AddPlan {
    var urls: [String] = []
    /// Of the one URL.
    var mirrors: [String] = []
    var entries: [ListFile.Entry] = []
    /// What Metalink documents name.
    var files: [Metalink.File] = []
    /// Made from the options; what all tasks share.
    var template = TaskSpec()
    var output: String?
    var directory: String?
    var checksum: Checksum?
    var conflictPolicy: ConflictPolicy?
    var preserveTime = false
    var clientToken: String?
    var resumeData: String?
    /// Absolute; what relative paths are seen from, and the folder of downloads that name none.
    var currentFolder: String
    /// The session names a folder, so the current one is not imposed.
    var sessionHasDirectory = false

    /// Most tasks in one request (a line has a limit of 8 MiB).
    static let largestRequest = 1000
    /// Bytes of piece digests in one request, unless one task has more.
    static let longestPieces = 4 << 20

    /// The system's daemon saves in the user's own folder there, and nowhere else: relative paths are seen from that
    /// folder unless the current one is in it.
    /// - Parameter userFolder: as the daemon names it; nil for a user's own daemon.
    mutating func save(in userFolder: String?) {
        guard let userFolder, currentFolder != userFolder, !currentFolder.hasPrefix(userFolder + "/") else { return }
        currentFolder = userFolder
    }

    /// - Throws: `CommandFailure.usage` for combinations that mean nothing.
    func specs() throws -> [TaskSpec] {
        let count = urls.count + entries.count + files.count + (resumeData == nil ? 0 : 1)
        guard count > 0 else {
            throw CommandFailure.usage("nothing to add: name a URL, a list with -i, or a --metalink")
        }
        if count > 1 {
            if output != nil {
                throw CommandFailure.usage("-o names one file, but there are \(count) URLs; use -d, or out= in a list")
            }
            if checksum != nil {
                throw CommandFailure.usage(
                    "--checksum is of one file, but there are \(count) URLs; use checksum= in a list")
            }
            if !mirrors.isEmpty {
                throw CommandFailure.usage(
                    "--mirror is of one file, but there are \(count) URLs; put mirrors behind tabs in a list")
            }
        }
        for url in urls + mirrors where !ListFile.looksLikeURL(url) {
            if [".meta4", ".metalink"].contains(where: { url.lowercased().hasSuffix($0) }) {
                throw CommandFailure.usage(
                    "'\(Printable.text(url, limit: 60))' is not a URL; did you mean --metalink \(Printable.text(url, limit: 60))?"
                )
            }
            throw CommandFailure.usage(
                "'\(Printable.text(url, limit: 60))' is not a URL; did you mean https://\(Printable.text(url, limit: 60))?"
            )
        }
        if let output, output.isEmpty || output.hasSuffix("/") {
            throw CommandFailure.usage("-o names a file; '\(Printable.text(output, limit: 60))' is a folder, use -d")
        }
        var specs = try urls.map(spec(url:)) + entries.map(spec(entry:)) + files.map(spec(file:))
        if let resumeData { specs.append(spec(resumeData: resumeData)) }
        if let clientToken {
            for index in specs.indices {
                specs[index].clientToken = specs.count == 1 ? clientToken : "\(clientToken)/\(index + 1)"
            }
        }
        return specs
    }

    private func base() -> TaskSpec {
        var spec = template
        spec.conflictPolicy = conflictPolicy
        if preserveTime { spec.preserveTime = true }
        return spec
    }

    private func spec(url: String) throws -> TaskSpec {
        var spec = base()
        spec.url = url
        if !mirrors.isEmpty { spec.mirrors = mirrors }
        spec.checksum = checksum
        spec.destination = destination(out: output, dir: nil)
        return spec
    }

    /// URL, destination and the rest come from `resumeData`, but for what is said otherwise.
    private func spec(resumeData: String) -> TaskSpec {
        var spec = base()
        spec.resumeData = resumeData
        if !mirrors.isEmpty { spec.mirrors = mirrors }
        spec.checksum = checksum
        if output != nil || directory != nil { spec.destination = destination(out: output, dir: nil) }
        return spec
    }

    private func spec(entry: ListFile.Entry) throws -> TaskSpec {
        var spec = base()
        spec.url = entry.url
        let copies = entry.mirrors + mirrors
        if !copies.isEmpty { spec.mirrors = copies }
        spec.checksum = entry.checksum ?? checksum
        if !entry.headers.isEmpty { spec.headers = (template.headers ?? []) + entry.headers }
        spec.destination = destination(out: entry.out ?? output, dir: entry.dir)
        return spec
    }

    private func spec(file: Metalink.File) throws -> TaskSpec {
        var spec = base()
        spec.url = file.urls.first
        let copies = file.urls.dropFirst().prefix(Self.mostMirrors) + mirrors
        if !copies.isEmpty { spec.mirrors = Array(copies) }
        spec.checksum = checksum ?? file.checksums.first
        spec.size = file.size
        spec.pieces = file.pieces
        // A name in folders of its own needs a place to put them.
        if sessionHasDirectory, output == nil, !file.name.contains("/") {
            spec.destination = Destination(filename: file.name)
        } else {
            spec.destination = destination(out: output ?? file.name, dir: nil)
        }
        return spec
    }

    /// The daemon takes no more of one task.
    private static let mostMirrors = 64

    private func destination(out: String?, dir: String?) -> Destination? {
        let folder = dir ?? directory
        var destination = Destination()
        if let out {
            let base = folder.map { PathText.absolute($0, in: currentFolder) } ?? currentFolder
            destination.path = PathText.absolute(out, in: base)
        } else if let folder {
            destination.directory = PathText.absolute(folder, in: currentFolder)
        } else if sessionHasDirectory {
            return nil
        } else {
            destination.directory = currentFolder
        }
        return destination
    }
}
