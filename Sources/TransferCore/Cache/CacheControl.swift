import TransferModel

/// The directives of the Cache-Control fields of one message, as far as a private cache acts on them (RFC 9111 section
/// 5.2).
///
/// `s-maxage` and `proxy-revalidate` are for shared caches, and unknown directives are ignored (section 5.2.3).
/// Qualified forms of `private` and `no-cache` count as the unqualified ones, which is never less strict.
package struct CacheControl: Sendable, Hashable {
    package var noStore = false
    package var noCache = false
    package var mustRevalidate = false
    package var mustUnderstand = false
    package var isPublic = false
    package var isPrivate = false
    package var onlyIfCached = false
    /// Seconds; 0 if it is not a number: such an answer is stale (section 4.2.1).
    package var maxAge: Int64?
    /// How stale an answer the client takes, in seconds; the greatest number if any will do (section 5.2.1.2).
    package var maxStale: Int64?
    /// Seconds.
    package var minFresh: Int64?
    /// Seconds (RFC 5861 section 4).
    package var staleIfError: Int64?

    /// - Parameter fields: the values of the message's Cache-Control fields.
    package init(_ fields: [String]) {
        for field in fields { read(field) }
    }

    /// Greatest number of seconds: more counts as this (section 1.2.2).
    package static let longest: Int64 = 1 << 31

    private mutating func read(_ field: String) {
        var rest = field[...].utf8
        while true {
            _ = rest.take { ", \t".utf8.contains($0) }
            guard rest.first != nil else { return }
            let name = rest.take { $0 != UInt8(ascii: "=") && $0 != UInt8(ascii: ",") }.trimmed.lowercased()
            // Token and quoted string mean the same (section 5.2).
            let argument = rest.take("=") ? rest.takeQuoted() ?? rest.take { $0 != UInt8(ascii: ",") }.trimmed : nil
            take(name, argument)
            // What follows a quoted argument belongs to nothing.
            _ = rest.take { $0 != UInt8(ascii: ",") }
        }
    }

    private mutating func take(_ name: String, _ argument: String?) {
        switch name {
        case "no-store": noStore = true
        case "no-cache": noCache = true
        case "must-revalidate": mustRevalidate = true
        case "must-understand": mustUnderstand = true
        case "public": isPublic = true
        case "private": isPrivate = true
        case "only-if-cached": onlyIfCached = true
        case "max-age": maxAge = min(maxAge ?? .max, argument.flatMap(Self.seconds) ?? 0)
        case "min-fresh": minFresh = max(minFresh ?? 0, argument.flatMap(Self.seconds) ?? Self.longest)
        case "stale-if-error": staleIfError = min(staleIfError ?? .max, argument.flatMap(Self.seconds) ?? 0)
        case "max-stale": maxStale = argument.map { Self.seconds($0) ?? 0 } ?? .max
        default: break
        }
    }

    /// Digits only (section 1.2.2).
    package static func seconds(_ text: String) -> Int64? {
        text.isDigits ? min(Int64(text) ?? longest, longest) : nil
    }
}
