import CCurl
import TransferCore
import TransferModel

/// A request's header lines in libcurl's form. Most requests have the same lines as the previous one and share them.
final class HeaderLines {
    private let headers: [HeaderField]
    private let ownHeaders: [HeaderField]
    private let storedCookies: String?
    private let token: String?
    /// The lines about the payload; none if nothing is sent.
    private let ofPayload: [String]
    private(set) var list: UnsafeMutablePointer<curl_slist>?

    /// nil for a field that would break its line, or without memory.
    init?(_ request: RequestState, ofPayload: [String], userAgent: String) {
        headers = request.headers
        ownHeaders = request.ownHeaders
        storedCookies = request.storedCookies
        token = request.token
        self.ofPayload = ofPayload
        for line in ofPayload where !append(line) { return nil }
        for field in request.allHeaders {
            // The length is that of the payload; waiting for a 100 is the exchange's choice.
            if !ofPayload.isEmpty, Self.namesOfPayload.contains(where: field.isNamed) { continue }
            // For libcurl, a field without a value is written `Name;` (CURLOPT_HTTPHEADER(3)).
            let line = field.value.isEmpty ? "\(field.name);" : "\(field.name): \(field.value)"
            guard storedCookies != nil && field.isNamed("cookie") ? append(octetsOf: line) : append(line) else {
                return nil
            }
        }
        if !request.allHeaders.contains(where: { $0.isNamed("User-Agent") }) {
            guard append("User-Agent: \(userAgent)") else { return nil }
        }
    }

    deinit { curl_slist_free_all(list) }

    private static let namesOfPayload = ["content-length", "transfer-encoding", "expect"]

    private func append(_ line: String) -> Bool {
        guard !line.utf8.contains(where: { $0 == 10 || $0 == 13 || $0 == 0 }),
            let longer = curl_slist_append(list, line)
        else { return false }
        list = longer
        return true
    }

    private func append(octetsOf line: String) -> Bool {
        let octets = CookieOctets.octets(of: line)
        guard !octets.contains(where: { $0 == 10 || $0 == 13 || $0 == 0 }) else { return false }
        let longer = (octets + [0]).withUnsafeBytes { bytes in
            curl_slist_append(list, bytes.baseAddress?.assumingMemoryBound(to: CChar.self))
        }
        guard let longer else { return false }
        list = longer
        return true
    }

    /// Whether these are the request's lines.
    func serve(_ request: RequestState, ofPayload: [String]) -> Bool {
        self.ofPayload == ofPayload && headers == request.headers && ownHeaders == request.ownHeaders
            && token == request.token
            // Swift considers some texts equal although their octets differ.
            && storedCookies.map { Array($0.utf8) } == request.storedCookies.map { Array($0.utf8) }
    }
}
