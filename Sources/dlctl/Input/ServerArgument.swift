import ArgumentParser
import TransferModel

/// A server or proxy on the command line: `[SCHEME://]HOST[:PORT]`, https if no scheme is given.
struct ServerArgument: ExpressibleByArgument, Hashable {
    var space: CredentialSpace

    init?(argument: String) {
        var rest = argument[...]
        var scheme = "https"
        if let mark = argument.firstRange(of: "://") {
            scheme = argument[..<mark.lowerBound].lowercased()
            rest = argument[mark.upperBound...]
        }
        guard scheme == "http" || scheme == "https" else { return nil }
        if rest.last == "/" { rest.removeLast() }
        var port = scheme == "http" ? 80 : 443
        // The colons of an IPv6 address are within brackets.
        if let colon = rest.lastIndex(of: ":"), !rest[colon...].contains("]") {
            guard let number = Int(rest[rest.index(after: colon)...]), (1...65535).contains(number) else { return nil }
            port = number
            rest = rest[..<colon]
        }
        if rest.first == "[", rest.last == "]" { rest = rest.dropFirst().dropLast() }
        guard !rest.isEmpty, !rest.contains(where: { "/?#@[]".contains($0) || $0.isWhitespace }) else { return nil }
        space = CredentialSpace(host: String(rest), port: port, protocol: scheme)
    }
}
