import Testing

@testable import CurlEngine

@Suite struct FilePathTests {
    @Test(
        arguments: [
            ("file:///a/b%20c", "/a/b c"), ("file:/a", "/a"), ("FILE://localhost/a#x", "/a"), ("file:///%C3%A4", "/ä"),
            ("file://host/a", nil), ("file://", nil), ("file:a", nil), ("file:///a%00b", nil), ("file:///a%zz", nil),
            ("http:///a", nil),
        ] as [(String, String?)])
    func namesAPath(url: String, path: String?) {
        #expect(FilePath.decode(url) == path)
    }
}
