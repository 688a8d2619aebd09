import TestSupport
import Testing

@testable import dlctl

@Suite struct URLPatternTests {
    static let table = [
        "http://h/plain", "http://h/[1-3]", "http://h/[01-12]", "http://h/[1-10:3]", "http://h/[0-10:5]",
        "http://h/[000-10:4]", "http://h/[a-e]", "http://h/[a-z:7]", "http://h/[A-C]", "http://h/[Z-a]",
        "http://h/{one,two,three}", "http://h/{one}", "http://h/{a,,b}", "http://h/{a,}", "http://{a,b}.h/[1-2]/{x,y}",
        "{http,ftp}://h/f", "http://h/\\[1-3\\]", "http://h/\\{a,b\\}", "http://h/{a\\,b,c}", "http://h/{a\\}b,c}",
        "http://h/{\\x,y}", "http://h/a\\b", "http://h/\\\\[1-2]", "http://[::1]:8/[1-2]", "http://[::]/f",
        "http://[fe80::1%25eth0]/f", "http://h/[::1]/[1-2]", "http://h/[]", "http://h/[]{a,b}",
        "http://h/[5-5]", "http://h/[a-a]", "http://h/[1- 3]", "http://h/?q=[1-2]#[3-4]", "http://h/{ä,ö}",
        "http://h/[10-1]", "http://h/[1-3:0]", "http://h/[1-3:3]", "http://h/[1-3:2]", "http://h/[5-5:2]",
        "http://h/[z-a]", "http://h/[a-Z]", "http://h/[A-b]", "http://h/[a-z:26]", "http://h/[a]", "http://h/[1]",
        "http://h/[1-]", "http://h/[-3]", "http://h/[1-3", "http://h/[1-a]", "http://h/[a-1]", "http://h/[ab-c]",
        "http://h/[1-3:x]", "http://h/[1-3:]", "http://h/[1,3]", "http://h/{}", "http://h/{a", "http://h/a}",
        "http://h/a]", "http://h/{a{b}}", "http://h/{a[1-2]}", "http://h/{a]b}", "http://h/[{a}]", "http://h/[1::2]",
        "http://h/[:]", "http://h/[99999999999999999999-3]", "http://h/[a-é]",
    ]

    /// Returns the URLs that the real curl makes of the pattern, or nil if curl refuses it.
    private func curl(_ arguments: [String]) async throws -> [String]? {
        // No protocol is allowed, so curl only prints what it would request.
        let (status, output) = try await TestSupport.Program.run(["curl", "-q", "-s", "--proto", "=tftp"] + arguments)
        return status == 3 ? nil : output.split(separator: "\n").map(String.init)
    }

    private func urls(_ pattern: String) -> [String]? { (try? URLPattern(pattern)).map { $0.map(\.url) } }

    @Test(.enabled(if: Requirements.has("curl"), "curl is installed"), arguments: table)
    func expandsAsCurlDoes(_ pattern: String) async throws {
        let expected = try await curl(["-o", "/dev/null", "-w", "%{url_effective}\\n", pattern])
        #expect(urls(pattern) == expected)
    }

    /// Random texts from the characters of globs, from a seed.
    @Test(.enabled(if: Requirements.has("curl"), "curl is installed"))
    func expandsAsCurlDoesWhateverIsWritten() async throws {
        var random = SplitMix(seed: 19)
        let pieces = [
            "[", "]", "{", "}", ",", "-", ":", "\\", "0", "1", "7", "12", "a", "c", "z", "[1-2]", "{a,b}", "[a-c:2]",
        ]
        for _ in 0..<400 {
            let length = Int.random(in: 1...7, using: &random)
            let pattern = "http://h/" + (0..<length).compactMap { _ in pieces.randomElement(using: &random) }.joined()
            let expected = try await curl(["-o", "/dev/null", "-w", "%{url_effective}\\n", pattern])
            #expect(urls(pattern) == expected, "\(pattern)")
        }
    }

    @Test(
        .enabled(if: Requirements.has("curl"), "curl is installed"),
        arguments: [
            ("http://h/[1-2]", "f#1"), ("http://{a,b}/[01-02]", "#1-#2.x"), ("http://h/{a,b}", "#1#1#2#0#"),
            ("http://h/[1-2]", "#12"), ("http://h/f", "#1"), ("http://h/{a}{b}{c}{d}{e}{f}{g}{h}{i}{j}", "#10#1"),
        ])
    func namesFilesAsCurlDoes(_ pattern: String, _ name: String) async throws {
        let folder = "/nowhere"
        let expected = try await curl(["--output-dir", folder, "-o", name, "-w", "%{filename_effective}\\n", pattern])
        let names = try URLPattern(pattern).map { folder + "/" + $0.named(name) }
        #expect(names == expected)
    }

    @Test(arguments: [
        ("http://h/[10-1]", 10, "'[10-1]' runs backwards"), ("http://h/ä/{a", 12, "nothing closes this '{'"),
        ("http://h/a}", 11, "nothing opens this '}'"), ("http://h/{a[}", 12, "needs a backslash"),
        ("http://h/[x]", 10, "'[x]' is not a range; write [1-10]"), ("http://h/{}", 10, "'{}' names nothing"),
        ("http://h/[1-3:9]", 10, "the step of '[1-3:9]'"), ("http://h/[1-2", 10, "nothing closes this '['"),
        ("http://h/[0-9223372036854775807]", 10, "longer than can be counted"),
        ("http://h/[1-4000000000][1-4000000000]", 1, "more URLs than can be counted"),
    ])
    func saysWhatIsWrongAndWhere(_ pattern: String, _ position: Int, _ problem: String) throws {
        let error = try #require(throws: URLPattern.Malformed.self) { try URLPattern(pattern) }
        #expect(error.position == position && error.problem.contains(problem), "\(error)")
    }

    @Test func makesEachURLWhenItIsAskedFor() throws {
        let pattern = try URLPattern("http://h/[0-9][0-999999999]{a,b}")
        #expect(pattern.count == 20_000_000_000)
        #expect(pattern.last?.url == "http://h/9999999999b")
        #expect(pattern[2_000_000_001].url == "http://h/10b")
        #expect(URLPattern(literal: "http://h/[1-2]").map(\.url) == ["http://h/[1-2]"])
    }
}
