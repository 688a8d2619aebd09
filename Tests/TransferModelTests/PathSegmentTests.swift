import Testing
import TransferModel

struct PathSegmentTests {
    @Test(arguments: [
        ("a-b_c.d~9", "a-b_c.d~9"), ("a b", "a%20b"), ("a/b?c#d", "a%2Fb%3Fc%23d"), ("50%", "50%25"), ("ü", "%C3%BC"),
        ("\u{1}", "%01"),
    ])
    func namesAreCoded(name: String, segment: String) { #expect(PathSegment.encoded(name) == segment) }
}
