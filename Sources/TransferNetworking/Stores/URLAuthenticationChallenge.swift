import Threading
import TransferModel

/// Takes the answer to a challenge, in place of a completion handler.
public protocol URLAuthenticationChallengeSender: NSObjectProtocol {
    func use(_ credential: URLCredential, for challenge: URLAuthenticationChallenge)
    func continueWithoutCredential(for challenge: URLAuthenticationChallenge)
    func cancel(_ challenge: URLAuthenticationChallenge)
    func performDefaultHandling(for challenge: URLAuthenticationChallenge)
    func rejectProtectionSpaceAndContinue(with challenge: URLAuthenticationChallenge)
}

extension URLAuthenticationChallengeSender {
    public func performDefaultHandling(for challenge: URLAuthenticationChallenge) {}
    public func rejectProtectionSpaceAndContinue(with challenge: URLAuthenticationChallenge) {}
}

/// A server or proxy asks for credentials, or a server's certificate is not trusted.
open class URLAuthenticationChallenge: NSObject, @unchecked Sendable {
    public let protectionSpace: URLProtectionSpace
    /// A stored credential, or the user name that was refused last.
    public let proposedCredential: URLCredential?
    public let previousFailureCount: Int
    public let failureResponse: URLResponse?
    public let error: (any Error)?
    /// The sender that the challenge was made with.
    open var sender: (any URLAuthenticationChallengeSender)? { given ?? answers }
    private let given: (any URLAuthenticationChallengeSender)?
    let answers = ChallengeAnswers()

    public init(
        protectionSpace space: URLProtectionSpace, proposedCredential credential: URLCredential?,
        previousFailureCount: Int, failureResponse response: URLResponse?, error: (any Error)?,
        sender: any URLAuthenticationChallengeSender
    ) {
        protectionSpace = space
        proposedCredential = credential
        self.previousFailureCount = previousFailureCount
        failureResponse = response
        self.error = error
        given = sender
    }

    public init(
        authenticationChallenge challenge: URLAuthenticationChallenge, sender: any URLAuthenticationChallengeSender
    ) {
        protectionSpace = challenge.protectionSpace
        proposedCredential = challenge.proposedCredential
        previousFailureCount = challenge.previousFailureCount
        failureResponse = challenge.failureResponse
        error = challenge.error
        given = sender
    }

    init(_ question: Question, _ space: ProtectionSpace, for course: TaskCourse) {
        protectionSpace = URLProtectionSpace(space, question)
        previousFailureCount = question.previousFailureCount ?? 0
        failureResponse = question.response.map(Mapping.response)
        proposedCredential = question.proposedUser.map {
            URLCredential(user: $0, password: nil, persistence: .none, isStoredElsewhere: true)
        }
        error = nil
        given = nil
    }
}

/// Passes what is said to a challenge's sender on to whoever waits for the answer.
final class ChallengeAnswers: NSObject, URLAuthenticationChallengeSender, @unchecked Sendable {
    private let receiver = Guarded<TaskCourse.ChallengeAnswer?>(nil)

    func connect(_ take: @escaping TaskCourse.ChallengeAnswer) { receiver.withLock { $0 = take } }

    private func say(_ disposition: URLSession.AuthChallengeDisposition, _ credential: URLCredential? = nil) {
        receiver.withLock { $0 }?(disposition, credential)
    }
    func use(_ credential: URLCredential, for challenge: URLAuthenticationChallenge) { say(.useCredential, credential) }
    func continueWithoutCredential(for challenge: URLAuthenticationChallenge) { say(.useCredential) }
    func cancel(_ challenge: URLAuthenticationChallenge) { say(.cancelAuthenticationChallenge) }
    func performDefaultHandling(for challenge: URLAuthenticationChallenge) { say(.performDefaultHandling) }
    func rejectProtectionSpaceAndContinue(with challenge: URLAuthenticationChallenge) { say(.rejectProtectionSpace) }
}
