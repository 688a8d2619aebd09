import Testing

@testable import CurlEngine

@Suite struct CrowdTests {
    @Test func formsAndDispersesAtDifferentNumbers() {
        let crowd = Crowd()
        #expect(!crowd.note(Crowd.begins - 1) && !crowd.isCrowded)
        #expect(crowd.note(Crowd.begins) && crowd.isCrowded)
        #expect(!crowd.note(Crowd.begins * 100) && crowd.isCrowded)
        #expect(!crowd.note(Crowd.ends) && crowd.isCrowded)
        #expect(crowd.note(Crowd.ends - 1) && !crowd.isCrowded)
        #expect(!crowd.note(Crowd.begins - 1) && !crowd.isCrowded)
        #expect(!crowd.note(0) && !crowd.isCrowded)
    }
}
