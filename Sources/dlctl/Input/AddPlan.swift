import Metalink
import TransferModel

/// Turns the arguments of `add` into specs. It is pure, so that every combination can be tested.
struct AddPlan {
    var urls: [String] = []
    /// `urls` may have curl's globs.
    var usesPatterns = true
    /// Mirrors of the only URL.
    var mirrors: [String] = []
    var entries: [ListFile.Entry] = []
    /// The files that Metalink documents name.
    var files: [Metalink.File] = []
    /// Made from the options; shared by all tasks.
    var template = TaskSpec()
    var output: String?
    var directory: String?
    var checksum: Checksum?
    var conflictPolicy: ConflictPolicy?
    var preserveTime = false
    var clientToken: String?
    var resumeData: String?
    /// Each task gets the cookies for its server.
    var cookies: [Cookie] = []
    /// Absolute. The base of relative paths, and the folder of downloads that name none.
    var currentFolder: String
    /// The session names a folder, so the current folder is not used.
    var sessionHasDirectory = false

    /// The most tasks of one command. More would be a slip of the finger.
    static let mostTasks = 10_000_000
    /// The most tasks in one request (a line is limited to 8 MiB).
    static let largestRequest = 1000
    /// The most bytes of piece digests in one request, unless one task has more.
    static let longestPieces = 4 << 20

    /// Uses the user's own folder, because the system daemon saves nowhere else. Relative paths start from that folder,
    /// unless the current folder is inside it.
    /// - Parameter userFolder: as reported by the daemon; nil for a user's own daemon.
    mutating func save(in userFolder: String?) {
        guard let userFolder, currentFolder != userFolder, !currentFolder.hasPrefix(userFolder + "/") else { return }
        currentFolder = userFolder
    }

    /// Returns the specs, each of which is made when it is needed.
    /// - Throws: `CommandFailure.usage` for combinations that make no sense.
    func specs() throws -> AddSpecs {
        let patterns = try urls.map(pattern)
        let specs = AddSpecs(plan: self, patterns: patterns)
        guard !specs.isEmpty else {
            throw CommandFailure.usage("nothing to add: name a URL, a list with -i that is not empty, or a --metalink")
        }
        guard specs.count <= Self.mostTasks else {
            let count = specs.count == .max ? "too many" : "\(specs.count)"
            throw CommandFailure.usage("these are \(count) URLs; at most \(Self.mostTasks) can be added at once")
        }
        for url in patterns.compactMap(\.first?.url) + mirrors { try checkURL(url) }
        if specs.count > 1 { try checkSeveral(specs.count, patterns) }
        if let output { try checkOutput(output) }
        for (option, path) in [("-o", output), ("-d", directory)] {
            if let path { try PathText.check(path, of: option, in: currentFolder) }
        }
        return specs
    }

    /// The URLs of an argument. A data: URL contains arbitrary text and is not a pattern.
    private func pattern(_ url: String) throws -> URLPattern {
        guard usesPatterns, !url.lowercased().hasPrefix("data:") else { return URLPattern(literal: url) }
        do {
            return try URLPattern(url)
        } catch {
            throw CommandFailure.usage(
                "\(Printable.text(url)), position \(error.position): \(error.problem); -g takes URLs as they are")
        }
    }

    private func checkURL(_ url: String) throws {
        if ListFile.looksLikeURL(url) { return }
        let text = Printable.text(url, limit: 60)
        let place = text.drop { $0 == "/" }
        var advice = ""
        if [".meta4", ".metalink"].contains(where: { url.lowercased().hasSuffix($0) }) {
            if !url.hasPrefix("-") { advice = "; did you mean --metalink \(text)?" }
        } else if !url.hasPrefix("/") || url.hasPrefix("//"), Self.mayBeginWithHost(place) {
            advice = "; did you mean https://\(place)?"
        }
        throw CommandFailure.usage("'\(text)' is not a URL" + advice)
    }

    /// Tells whether the text would be a URL with https:// in front. A URL with a wrong scheme would not.
    private static func mayBeginWithHost(_ text: some StringProtocol) -> Bool {
        let authority = text.prefix { !"/?#".contains($0) }
        return !authority.isEmpty && !authority.hasSuffix(":") && !authority.contains(where: \.isWhitespace)
    }

    private func checkSeveral(_ count: Int, _ patterns: [URLPattern]) throws {
        if let output {
            let isNamedApart =
                entries.isEmpty && files.isEmpty && resumeData == nil
                && patterns.allSatisfy { $0.isReferenced(by: output) }
            if !isNamedApart {
                throw CommandFailure.usage(
                    "-o names one file, but there are \(count) URLs; use -d, out= in a list, "
                        + "or use #1 in -o for the value of the first [] or {} of each URL")
            }
        }
        if checksum != nil {
            throw CommandFailure.usage(
                "--checksum applies to one file, but there are \(count) URLs; use checksum= in a list")
        }
        if !mirrors.isEmpty {
            throw CommandFailure.usage(
                "--mirror applies to one file, but there are \(count) URLs; in a list, put mirrors after tabs")
        }
    }

    private func checkOutput(_ output: String) throws {
        if output == "-" {
            throw CommandFailure.usage(
                "-o names a file, and standard output is not one; 'dlctl fetch URL' prints what a URL has "
                    + "(-o ./- saves a file of that name)")
        }
        let place = PathText.absolute(output, in: currentFolder)
        if ["/dev/fd/", "/dev/std", "/proc/self/"].contains(where: place.hasPrefix) {
            throw CommandFailure.usage(
                "-o names a file that the daemon can write, and \(Printable.text(output, limit: 60)) is this program's; "
                    + "'dlctl fetch URL' prints what a URL has")
        }
        if output.isEmpty || output.hasSuffix("/") {
            throw CommandFailure.usage("-o names a file; '\(Printable.text(output, limit: 60))' is a folder, use -d")
        }
    }

    private func base() -> TaskSpec {
        var spec = template
        spec.conflictPolicy = conflictPolicy
        if preserveTime { spec.preserveTime = true }
        return spec
    }

    func spec(_ expansion: URLPattern.Expansion) -> TaskSpec {
        var spec = base()
        spec.url = expansion.url
        if !mirrors.isEmpty { spec.mirrors = mirrors }
        spec.checksum = checksum
        spec.destination = destination(out: output.map(expansion.named), dir: nil)
        return spec
    }

    /// URL, destination and the rest come from `resumeData`, unless options override them.
    func spec(resumeData: String) -> TaskSpec {
        var spec = base()
        spec.resumeData = resumeData
        if !mirrors.isEmpty { spec.mirrors = mirrors }
        spec.checksum = checksum
        if output != nil || directory != nil { spec.destination = destination(out: output, dir: nil) }
        return spec
    }

    func spec(entry: ListFile.Entry) -> TaskSpec {
        var spec = base()
        spec.url = entry.url
        let copies = entry.mirrors + mirrors
        if !copies.isEmpty { spec.mirrors = copies }
        spec.checksum = entry.checksum ?? checksum
        if !entry.headers.isEmpty { spec.headers = (template.headers ?? []) + entry.headers }
        spec.destination = destination(out: entry.out ?? output, dir: entry.dir)
        return spec
    }

    func spec(file: Metalink.File) -> TaskSpec {
        var spec = base()
        file.fill(&spec)
        if !mirrors.isEmpty { spec.mirrors = (spec.mirrors ?? []) + mirrors }
        if let checksum { spec.checksum = checksum }
        // A name that contains folders needs a base folder.
        if sessionHasDirectory, output == nil, !file.name.contains("/") {
            spec.destination = Destination(filename: file.name)
        } else {
            spec.destination = destination(out: output ?? file.name, dir: nil)
        }
        return spec
    }

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
