import ArgumentParser
import TransferModel

/// A server or proxy on the command line: `[SCHEME://]HOST[:PORT]`, with https as the default scheme.
///
/// If the text cannot be read, only the reason is kept: the argument parser would show the text, and a password in it.
struct ServerArgument: ExpressibleByArgument, Hashable {
    let reading: Result<CredentialSpace, Fault>

    /// Contains the reason, never the text.
    struct Fault: Error, Hashable {
        var message: String
    }

    init(argument: String) {
        reading = Result { () throws(Fault) -> CredentialSpace in try Self.read(argument) }
    }

    /// - Throws: `ValidationError` with the reason.
    func check() throws {
        if case .failure(let fault) = reading { throw ValidationError("The server: \(fault.message)") }
    }

    private static func read(_ argument: String) throws(Fault) -> CredentialSpace {
        var rest = argument[...]
        var scheme = "https"
        if let mark = argument.firstRange(of: "://") {
            scheme = argument[..<mark.lowerBound].lowercased()
            rest = argument[mark.upperBound...]
        }
        guard scheme == "http" || scheme == "https" else {
            throw Fault(message: "only servers and proxies of http and https have stored credentials.")
        }
        if rest.last == "/" { rest.removeLast() }
        if rest.contains("@") {
            throw Fault(
                message: "give user name and password apart from it: --username NAME, and the password at the prompt.")
        }
        if rest.contains(where: { "/?#".contains($0) }) {
            throw Fault(message: "leave out the path; credentials are for all of a server. --realm narrows them.")
        }
        var port = scheme == "http" ? 80 : 443
        // The colons of an IPv6 address are inside brackets.
        if let colon = rest.lastIndex(of: ":"), !rest[colon...].contains("]") {
            guard let number = Int(rest[rest.index(after: colon)...]), (1...65535).contains(number) else {
                throw Fault(message: "its port is a number from 1 to 65535.")
            }
            port = number
            rest = rest[..<colon]
        }
        if rest.first == "[", rest.last == "]" { rest = rest.dropFirst().dropLast() }
        guard !rest.isEmpty, !rest.contains(where: { "[]".contains($0) || $0.isWhitespace }) else {
            throw Fault(message: "write it as HOST, HOST:PORT or SCHEME://HOST:PORT.")
        }
        return CredentialSpace(host: String(rest), port: port, protocol: scheme)
    }
}
