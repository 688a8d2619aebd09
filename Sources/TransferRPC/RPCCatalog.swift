import TransferModel

/// Every method of the protocol, in the order of the reference.
public let allMethods: [any RPCMethod.Type] = [
    DaemonInfo.self, DaemonStats.self, GetSettings.self, ListSettings.self, SetSettings.self, Discover.self,
    OpenSession.self, GetSession.self, ListSessions.self, PauseSession.self, ResumeSession.self,
    FinishSession.self, InvalidateSession.self,
    AddTasks.self, GetTask.self, ListTasks.self,
    PauseTasks.self, ResumeTasks.self, CancelTasks.self, RetryTasks.self, RemoveTasks.self,
    UpdateTask.self, TakeResumeData.self, ReadBody.self, GiveCredit.self,
    ListDecisions.self, AnswerDecision.self,
    ListCookies.self, SetCookies.self, RemoveCookies.self,
    CacheInfo.self, RemoveCached.self,
    ListCredentials.self, SetCredential.self, RemoveCredentials.self,
    ListHSTS.self, RemoveHSTS.self,
    ListTrust.self, RemoveTrust.self,
    Subscribe.self, Unsubscribe.self, AcknowledgeEvents.self, ForgetSubscriber.self, ListEvents.self,
]

/// What all methods have in common.
public enum RPCCatalog {
    public static let protocolVersion = 1
    /// Name of the notification that carries events.
    public static let eventNotification = "event"
    /// Name of the notification that carries a piece of a body (`TaskData`).
    public static let dataNotification = "task.data"
    /// Codes that any method may answer with.
    public static let commonErrors: [ErrorCode] = [
        .rpcMalformed, .rpcUnknownMethod, .unknownField, .badField, .tooLarge, .limitReached, .shuttingDown, .internal,
    ]
}
