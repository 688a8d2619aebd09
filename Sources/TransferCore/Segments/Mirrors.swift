import TransferModel

/// The URLs that one file may be fetched from: the task's own, then its other mirrors, each once.
package struct Mirrors: Sendable, Hashable {
    package struct Place: Sendable, Hashable {
        /// As the client wrote it, user info included.
        package var url: String
        /// As a checkpoint names it; nil for the task's own URL.
        package var name: String?
    }

    /// Mirrors that one task may name.
    package static let limit = Bounds.mirrors
    package static let schemes: Set<URLScheme> = [.http, .https, .ftp, .ftps, .sftp]

    package private(set) var places: [Place]

    /// Only this mirror.
    package init(only place: Place) { places = [place] }

    package init(_ spec: TaskSpec) { self.init(spec.url ?? "", mirrors: spec.mirrors) }

    package init(_ own: String, mirrors: [String]?) {
        places = [Place(url: own)]
        guard let mirrors, !mirrors.isEmpty else { return }
        var known = Set([(try? URLRules.parse(own))?.requestURL])
        for mirror in mirrors {
            guard let url = try? URLRules.parse(mirror), known.insert(url.requestURL).inserted else { continue }
            places.append(Place(url: mirror, name: url.requestURL))
        }
    }

    /// Adds mirrors that the server of an answer names (RFC 6249), each once; never in plain text if the file was
    /// requested encrypted.
    package mutating func learn(from fields: [HeaderField], at url: String) {
        let isEncrypted = [places[0].url, url].contains { (try? URLRules.parse($0))?.scheme.isPlaintext == false }
        var known = Set(places.compactMap { (try? URLRules.parse($0.url))?.requestURL })
        for duplicate in LinkFields.duplicates(fields, base: url).prefix(Self.learntLimit) where count <= Self.limit {
            guard let parsed = try? URLRules.parse(duplicate.url), !(isEncrypted && parsed.scheme.isPlaintext),
                parsed.whyNoFile == nil,
                known.insert(duplicate.url).inserted
            else { continue }
            places.append(Place(url: duplicate.url, name: duplicate.url))
        }
    }

    /// The most mirrors accepted from one answer.
    package static let learntLimit = 16

    package var count: Int { places.count }

    /// The mirror that the held bytes come from; nil if nothing is held, or that mirror no longer belongs to this task.
    package func place(of checkpoint: Checkpoint?) -> Int? {
        checkpoint.flatMap { held in places.firstIndex { $0.name == held.mirror } }
    }
}

extension Mirrors {
    /// The checkpoint, with the name that its mirror has in the changed task. If a new URL replaces the one that the
    /// bytes come from, it must prove that it has the same version. So if the whole file is held, the last byte is given
    /// up and requested from it. A removed mirror has no successor.
    /// - Returns: nil if nothing changes.
    package static func renamed(_ held: Checkpoint, from old: TaskSpec, to new: TaskSpec) -> Checkpoint? {
        let (before, after) = (Mirrors(old), Mirrors(new))
        guard let place = before.place(of: held) else { return nil }
        func address(_ url: String) -> String? { (try? URLRules.parse(url))?.requestURL }
        let wanted = address(before.places[place].url)
        let same = after.places.first { address($0.url) == wanted }
        var named = held
        if let same {
            named.mirror = same.name
        } else if let total = held.total, total > 0, held.offset == total {
            named.offset = total - 1
        }
        return named == held ? nil : named
    }
}

/// The mirrors other than the one that is asked first.
package struct OtherMirrors: Sendable {
    /// The request that the task's own URL gets.
    package var base: StrategyRequest
    package var places: [Mirrors.Place]
    /// The task names a digest of the whole file.
    package var hasDigest: Bool
    /// Segments must not come from several mirrors, because a digest was already wrong.
    package var mustNotMix: Bool
    /// The mirror fills gaps that others left, under a digest of the whole. Only these ranges are requested from it,
    /// whatever version it says that it has, and anything that it cannot deliver is its failure.
    package var fillsGaps: Bool

    package init(
        base: StrategyRequest, places: [Mirrors.Place], hasDigest: Bool, mustNotMix: Bool = false,
        fillsGaps: Bool = false
    ) {
        self.base = base
        self.places = places
        self.hasDigest = hasDigest
        self.mustNotMix = mustNotMix
        self.fillsGaps = fillsGaps
    }

    /// The download from this mirror; nil if it cannot be asked for segments.
    func download(at place: Mirrors.Place) -> HTTPDownload? {
        var request = base.directed(to: place)
        request.checkpoint = nil
        return try? StrategyRegistry.httpDownload(for: request)
    }

    /// Digests that are strong enough to prove a file from several mirrors, as servers name them.
    package static let strongDigests: Set<String> = ["sha-256", "sha-384", "sha-512"]
}

extension StrategyRequest {
    /// The request as it goes to a mirror: another origin gets nothing that identifies the caller. Nobody is asked about
    /// a mirror's redirects, so they are refused if the task's own are asked about.
    /// - Parameter place: nothing changes for the task's own URL.
    package func directed(to place: Mirrors.Place) -> StrategyRequest {
        guard let name = place.name else { return self }
        var request = self
        request.mirror = name
        if redirects != .follow { request.redirects = .refuse }
        request.spec.url = place.url
        let own = spec.url.flatMap { try? URLRules.parse($0) }
        guard (try? URLRules.parse(place.url))?.hostKey != own?.hostKey else { return request }
        request.spec.headers = spec.headers?.filter { RequestHeaders.crossesOrigins($0.name) }
        request.sessionHeaders = sessionHeaders.filter { RequestHeaders.crossesOrigins($0.name) }
        request.network.dropIdentity()
        return request
    }

    /// The request, with the held bytes that can be continued from this mirror.
    /// - Parameter sharesBytes: a whole-file digest will prove the result, whatever mirrors its bytes come from.
    package func continuing(_ held: Checkpoint?, sharesBytes: Bool) -> StrategyRequest {
        var request = self
        request.checkpoint = held
        guard var held, held.mirror != mirror else { return request }
        request.checkpoint = nil
        guard sharesBytes, held.total != nil, held.contentCoding == nil else { return request }
        // The validators of the other mirror mean nothing here.
        held.validators = Validators()
        held.mirror = mirror
        request.checkpoint = held
        return request
    }
}
