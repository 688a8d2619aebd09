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

    @Test func twoRoundsComeToAllOfALargeOne() {
        for isOdd in [false, true] {
            #expect(Crowd.comes(to: isOdd, round: 1, of: 511) && Crowd.comes(to: isOdd, round: 2, of: 511))
            #expect(Crowd.comes(to: isOdd, round: 1, of: 512) != Crowd.comes(to: isOdd, round: 2, of: 512))
        }
        #expect(Crowd.comes(to: false, round: 1, of: 512) != Crowd.comes(to: true, round: 1, of: 512))
    }
}
