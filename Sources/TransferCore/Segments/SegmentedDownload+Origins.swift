import TransferModel

/// The mirrors that segments come from.
extension SegmentedDownload {
    /// Adds the other mirrors if a digest will prove the whole.
    /// - Parameters:
    ///   - serverDigests: the server's digests of the whole file.
    ///   - answer: may name further mirrors (RFC 6249).
    mutating func share(_ serverDigests: [String: String], answer: ResponseHead? = nil) {
        let strong = serverDigests.filter { OtherOrigins.strongDigests.contains($0.key) }
        guard let others, others.hasDigest || !strong.isEmpty else { return }
        digests = strong
        if let checksum = others.base.spec.checksum {
            digests = [checksum.algorithm.rawValue: checksum.value.lowercased()]
        }
        guard !others.mustNotMix else { return }
        var origins = Origins(others.base.spec)
        if let answer { origins.learn(from: answer.headers, at: answer.url) }
        for place in others.places + origins.places {
            guard !sources.contains(where: { $0.download.origin == place.name }),
                let download = others.download(at: place)
            else { continue }
            sources.append(Source(download: download))
            roster.add()
        }
    }

    /// Bytes fetched from now on may belong to another version.
    mutating func forgetVersions() {
        for origin in sources.indices {
            sources[origin].version = nil
            sources[origin].isConditional = true
        }
        roster.forgetVersions()
        brought = [:]
        head = nil
    }

    func exchange(for range: ByteRange, of total: ByteCount, from origin: OriginID) -> Exchange {
        let source = sources[origin]
        guard let version = source.version else {
            return source.download.exchange(for: range, total: total, digests: digests)
        }
        return source.download.exchange(for: range, of: version, conditional: source.isConditional)
    }

    /// Mirrors that were asked for something, as checkpoints name them.
    package var asked: Set<String?> { Set(roster.asked.map { sources[$0].download.origin }) }

    /// Which bytes came from which mirror, as far as this attempt knows.
    package var bringers: [String?: ByteRangeSet] {
        Dictionary(uniqueKeysWithValues: brought.map { (sources[$0.key].download.origin, $0.value) })
    }

    /// Scheme, name and port of the server that a running segment is requested from.
    package func host(of segment: SegmentID) -> String? { origins[segment].map { sources[$0].download.host } }

    /// The URL that a running segment is requested from, without user info; nil if there is only one mirror.
    package func url(of segment: SegmentID) -> String? {
        sources.count > 1 ? origins[segment].map { sources[$0].download.requestURL } : nil
    }

    /// Length and version are known, so that further segments may be requested.
    package var isParted: Bool { plan != nil }

    /// The hosts of all mirrors that are not dropped.
    package var hosts: Set<String> { Set(roster.remaining.map { sources[$0].download.host }) }
}
