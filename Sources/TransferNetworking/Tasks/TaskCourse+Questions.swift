import TransferModel
import TransferRPC

// The daemon's questions, as a delegate decides them.
extension TaskCourse {
    func asked(_ id: DecisionID, _ question: Question) {
        switch question.kind {
        case .challenge: challenged(id, question)
        case .redirect: redirected(id, question)
        case .begin: begins(id, question)
        case .cache: stores(id, question.default == .memoryOnly ? .memoryOnly : .store)
        case .response: answer(id, .allow)
        }
    }

    private func answer(
        _ id: DecisionID, _ action: DecisionAction, credential: DecisionCredential? = nil,
        persistence: CredentialPersistence? = nil, request: TaskRequest? = nil
    ) {
        let parameters = AnswerDecision(
            id: id, action: action, credential: credential, persistence: persistence, request: request)
        core.call(Methods.answerDecision, parameters) { [self] result in
            guard case .failure(let error) = result, !isOver else { return }
            // The question may have ended meanwhile; a request or credential that is refused ends the task.
            if (error as? TransferError)?.code != .decisionGone {
                fail(Mapping.error(error, task?.currentRequest?.url))
            }
        }
    }

    private func begins(_ id: DecisionID, _ question: Question) {
        guard let task, let request = task.originalRequest else { return answer(id, .continue) }
        message(to: delegate) { [self] delegate, session in
            let once = Once<(URLSession.DelayedRequestDisposition, URLRequest?)>()
            delegate.urlSession(session, task: task, willBeginDelayedRequest: request) { disposition, new in
                once.take((disposition, new)) { decided in
                    self.core.queue.async { [self] in
                        switch decided.0 {
                        case .continueLoading: answer(id, .continue)
                        case .cancel: task.cancel()
                        case .useNewRequest:
                            guard let new = decided.1 else { return answer(id, .continue) }
                            task.values.withLock { $0.currentRequest = new }
                            answer(id, .newRequest, request: Mapping.request(new))
                        }
                    }
                }
            }
        } otherwise: {
            answer(id, .continue)
        }
    }

    /// - Parameter proposed: where the daemon would store the answer.
    private func stores(_ id: DecisionID, _ proposed: DecisionAction) {
        guard let task = task as? URLSessionDataTask, case .delegate = completion, let response = task.response,
            Int64(body.count) == task.countOfBytesReceived
        else { return answer(id, proposed) }
        let proposal = CachedURLResponse(
            response: response, data: body, storagePolicy: proposed == .memoryOnly ? .allowedInMemoryOnly : .allowed)
        message(to: dataDelegate) { [self] delegate, session in
            let once = Once<CachedURLResponse?>()
            delegate.urlSession(session, dataTask: task, willCacheResponse: proposal) { decided in
                once.take(decided) { decided in
                    let policy = decided?.storagePolicy ?? .notAllowed
                    self.core.queue.async { [self] in
                        answer(id, policy == .notAllowed ? .doNotStore : policy == .allowed ? proposed : .memoryOnly)
                    }
                }
            }
        } otherwise: {
            answer(id, proposed)
        }
    }

    private func redirected(_ id: DecisionID, _ question: Question) {
        guard let task, let proposed = question.request.flatMap({ Mapping.proposed($0, task.currentRequest) }),
            let response = question.response.map(Mapping.response) as? HTTPURLResponse
        else { return answer(id, .follow) }
        guard countsRedirect() else { return }
        var offered = proposed
        // Foundation's proposal after 303, also to HEAD.
        if response.statusCode == 303 { offered.httpMethod = "GET" }
        asksToRedirect(response, offered) { [self] request in
            guard let request else {
                redirects -= 1
                provisional = question.response
                return answer(id, .refuse)
            }
            task.values.withLock { $0.currentRequest = request }
            let change = Mapping.request(request, insteadOf: proposed)
            change == TaskRequest() ? answer(id, .follow) : answer(id, .followWith, request: change)
        }
    }

    /// - Parameter decided: called on this queue with the request to make; nil makes the redirect the response.
    func asksToRedirect(
        _ response: HTTPURLResponse, _ proposed: URLRequest, _ decided: @escaping @Sendable (URLRequest?) -> Void
    ) {
        guard let task else { return }
        message(to: delegate) { [self] delegate, session in
            let once = Once<URLRequest?>()
            delegate.urlSession(
                session, task: task, willPerformHTTPRedirection: response, newRequest: proposed
            ) { request in
                once.take(request) { request in self.core.queue.async { decided(request) } }
            }
        } otherwise: {
            decided(proposed)
        }
    }

    private func challenged(_ id: DecisionID, _ question: Question) {
        guard let space = question.protectionSpace else { return answer(id, .performDefaultHandling) }
        let challenge = URLAuthenticationChallenge(question, space, for: self)
        decide(challenge) { [self] disposition, credential in
            switch disposition {
            case .performDefaultHandling: answer(id, .performDefaultHandling)
            case .cancelAuthenticationChallenge: task?.cancel()
            case .rejectProtectionSpace:
                let offers = question.actions.contains(.rejectProtectionSpace)
                answer(id, offers ? .rejectProtectionSpace : .performDefaultHandling)
            case .useCredential:
                if space.method == .serverTrust {
                    answer(id, credential?.trust == nil ? .performDefaultHandling : .trust)
                } else if let given = credential?.decision {
                    answer(id, .useCredential, credential: given)
                } else {
                    let offers = question.actions.contains(.rejectProtectionSpace)
                    answer(id, offers ? .rejectProtectionSpace : .performDefaultHandling)
                }
            }
        }
    }

    typealias ChallengeAnswer = @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void

    /// Asks the session's method first about what concerns a whole connection, and the task's about everything else. If
    /// a delegate has only the other method, that one is asked.
    /// - Parameter decided: called on this queue.
    func decide(_ challenge: URLAuthenticationChallenge, _ decided: @escaping ChallengeAnswer) {
        guard let task else { return }
        let connection = challenge.protectionSpace.isOfConnection
        let ofTask: @Sendable (any URLSessionTaskDelegate, URLSession, @escaping ChallengeAnswer) -> Void = {
            $0.urlSession($1, task: task, didReceive: challenge, completionHandler: $2)
        }
        let ofSession: @Sendable (any URLSessionTaskDelegate, URLSession, @escaping ChallengeAnswer) -> Void = {
            $0.urlSession($1, didReceive: challenge, completionHandler: $2)
        }
        let onQueue: ChallengeAnswer = { [core] disposition, credential in
            core.queue.async { decided(disposition, credential === URLCredential.unanswered ? nil : credential) }
        }
        message(to: delegate) { delegate, session in
            let (first, second) = (Once<Void>(), Once<Void>())
            let sender = Once<Void>()
            challenge.answers.connect { disposition, credential in
                sender.take(()) { onQueue(disposition, credential) }
            }
            (connection ? ofSession : ofTask)(delegate, session) { disposition, credential in
                first.take(()) {
                    guard credential === URLCredential.unanswered else {
                        return sender.take(()) { onQueue(disposition, credential) }
                    }
                    (connection ? ofTask : ofSession)(delegate, session) { disposition, credential in
                        second.take(()) { sender.take(()) { onQueue(disposition, credential) } }
                    }
                }
            }
        } otherwise: {
            decided(.performDefaultHandling, nil)
        }
    }
}
