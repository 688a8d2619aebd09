import Testing
import TransferModel

@testable import DaemonSetup

@Suite struct SettingKindTests {
    @Test(arguments: [
        (SettingKind.integer(1...10), "10", JSONValue.integer(10)),
        (.size(0...(1 << 30)), "1.5M", .integer(3 << 19)),
        (.rate, "0", 0),
        (.rate, "none", 0),
        (.rate, "2MB/s", .integer(2 << 20)),
        (.duration(0...100), "1m", .number(60)),
        (.duration(0...1e5), "1h30m", .number(5400)),
        (.boolean, "true", true),
        (.choice(["a", "b"]), "b", "b"),
        (.path, "~/x", "~/x"),
        (.proxy, "none", "none"),
        (.proxy, "socks5h://u:p@host:1080", "socks5h://u:p@host:1080"),
        (.list, "a.service, b.service", .array(["a.service", "b.service"])),
    ])
    func acceptedTextBecomesAValue(kind: SettingKind, text: String, value: JSONValue) {
        #expect(kind.value(ofText: text) == value)
    }

    @Test(arguments: [
        (SettingKind.integer(1...10), "0"), (.integer(1...10), "11"), (.integer(1...10), "5.0"),
        (.size(0...100), "1k"), (.rate, "-1"), (.duration(1...100), "500ms"), (.duration(1...100), "2h"),
        (.boolean, "yes"), (.boolean, "True"), (.choice(["a"]), "A"), (.path, "relative"), (.path, "~user/x"),
        (.path, "/a\u{0}b"), (.path, "/" + String(repeating: "p", count: 4095)), (.text, ""), (.text, "a\nb"),
        (.proxy, "ftp://host"), (.proxy, "host:8080"), (.proxy, "http://"), (.proxy, "http://a b"),
        (.proxy, "http://h:port"),
    ])
    func otherTextIsRefused(kind: SettingKind, text: String) {
        let value = kind.value(ofText: text)
        #expect(value == Optional<JSONValue>.none)
    }

    /// Values from the wire and from the store are JSON: a text is not accepted as a number there, and null is no
    /// value.
    @Test(arguments: [
        SettingKind.integer(0...10), .size(0...10), .rate, .duration(0...10), .boolean, .choice(["a"]), .path, .text,
        .proxy, .list,
    ])
    func jsonOfAnotherTypeIsRefused(kind: SettingKind) {
        let strangers: [JSONValue] = [.null, "5", .object(["x": 1]), true, 5, 1.5, .array([1])]
        let accepted = strangers.filter { kind.checked($0) != Optional<JSONValue>.none }
        switch kind {
        case .integer, .size, .rate: #expect(accepted == [5])
        case .duration: #expect(accepted == [5, 1.5])
        case .boolean: #expect(accepted == [true])
        case .text: #expect(accepted == ["5"])
        case .choice, .path, .proxy, .list: #expect(accepted.isEmpty)
        }
    }

    @Test func aValueIsWrittenAsItIsRead() {
        #expect(SettingKind.rate.text(of: 2048) == "2k")
        #expect(SettingKind.duration(0...1e9).text(of: 86400) == "1d")
        #expect(SettingKind.list.text(of: .array(["a", "b"])) == "[a, b]")
        #expect(SettingKind.choice(["1.2"]).text(of: "1.2") == "\"1.2\"", "YAML would read a number")
    }
}
