import CPSL
import Glibc
import TransferModel

extension HostName {
    /// A name in the form in which names are compared (RFC 6797 section 8.2): in lower case, without the dot of the root,
    /// labels beyond ASCII as A-labels (RFC 5890). An IPv6 address is in its shortest form (RFC 5952), without brackets. What cannot
    /// be converted stays as it is.
    package static func canonical(_ host: String) -> String {
        if host.utf8.contains(UInt8(ascii: ":")) { return shortest(host) ?? host.lowercased() }
        let name = withoutLastDots(host)
        guard name.utf8.contains(where: { $0 >= 0x80 }), !name.holds(0) else {
            return name.utf8.contains { (0x41...0x5A).contains($0) } ? name.lowercased() : name
        }
        // IDNA takes this for a dot too (RFC 3490 section 3.1).
        let labels = withoutLastDots(normalized(name).replacing("\u{3002}", with: "."))
            .split(separator: ".", omittingEmptySubsequences: false)
        return labels.map { label in
            label.utf8.allSatisfy { $0 < 0x80 }
                ? String(label) : Punycode.encode(label).map { "xn--" + $0 } ?? String(label)
        }.joined(separator: ".")
    }

    private static func withoutLastDots(_ name: String) -> String {
        var name = name
        while name.utf8.count > 1, name.utf8.last == UInt8(ascii: ".") { name.removeLast() }
        return name
    }

    /// nil if it is not an IPv6 address (inet_pton(3)).
    private static func shortest(_ text: String) -> String? {
        var address = in6_addr()
        let isBracketed = text.utf8.first == UInt8(ascii: "[") && text.utf8.last == UInt8(ascii: "]")
        let text = isBracketed ? String(text.dropFirst().dropLast()) : text
        guard inet_pton(AF_INET6, text, &address) == 1 else { return nil }
        var buffer = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        return inet_ntop(AF_INET6, &address, &buffer, socklen_t(buffer.count)).map { String(cString: $0) }
    }

    /// In lower case and composed (NFKC).
    private static func normalized(_ name: String) -> String {
        var lower: UnsafeMutablePointer<CChar>?
        guard psl_str_to_utf8lower(name, "utf-8", nil, &lower) == PSL_SUCCESS, let lower else {
            return name.lowercased()
        }
        defer { psl_free_string(lower) }
        return String(cString: lower)
    }

    /// Whether it is a name as DNS has it, in its canonical form: labels of at most 63 letters, digits, hyphens and
    /// underscores (RFC 1035 section 2.3.1; the last are in use).
    package static func isDomain(_ name: String) -> Bool {
        guard (1...253).contains(name.utf8.count), !isAddress(name) else { return false }
        return name.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).allSatisfy { label in
            (1...63).contains(label.count)
                && label.allSatisfy { byte in
                    (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte) || byte == UInt8(ascii: "-")
                        || byte == UInt8(ascii: "_")
                }
        }
    }
}

/// Names beyond ASCII in ASCII (RFC 3492).
enum Punycode {
    private static let (base, least, most, skew, damp) = (36, 1, 26, 38, 700)
    private static let (firstBias, firstCode) = (72, 0x80)

    /// Section 6.3.
    /// - Returns: nil if the label is too long to be one.
    static func encode(_ label: some StringProtocol) -> String? {
        let input = label.unicodeScalars.map { Int($0.value) }
        // More can never fit into 63 bytes.
        guard input.count <= 63 else { return nil }
        var output = input.filter { $0 < firstCode }.map { UInt8($0) }
        let basic = output.count
        if basic > 0 { output.append(UInt8(ascii: "-")) }
        var (code, delta, bias, done) = (firstCode, 0, firstBias, basic)
        while done < input.count, let next = input.filter({ $0 >= code }).min() {
            delta += (next - code) * (done + 1)
            code = next
            for value in input {
                if value < code { delta += 1 }
                guard value == code else { continue }
                output += digits(of: delta, bias)
                bias = adapted(delta, done + 1, isFirst: done == basic)
                delta = 0
                done += 1
            }
            delta += 1
            code += 1
        }
        return String(decoding: output, as: UTF8.self)
    }

    private static func digits(of delta: Int, _ bias: Int) -> [UInt8] {
        var (rest, step) = (delta, base)
        var digits: [UInt8] = []
        while true {
            let threshold = min(max(step - bias, least), most)
            guard rest >= threshold else { return digits + [digit(rest)] }
            digits.append(digit(threshold + (rest - threshold) % (base - threshold)))
            rest = (rest - threshold) / (base - threshold)
            step += base
        }
    }

    private static func digit(_ value: Int) -> UInt8 { UInt8(value < 26 ? 0x61 + value : 0x30 + value - 26) }

    /// Section 6.1.
    private static func adapted(_ delta: Int, _ count: Int, isFirst: Bool) -> Int {
        var delta = isFirst ? delta / damp : delta / 2
        delta += delta / count
        var step = 0
        while delta > (base - least) * most / 2 {
            delta /= base - least
            step += base
        }
        return step + (base - least + 1) * delta / (delta + skew)
    }
}
