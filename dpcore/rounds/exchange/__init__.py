"""Reports to and from other machines.

Modules:
    incoming_reports: reports of other systems, for stated channels
    outgoing_reports: records to report files, with a key and a ledger
"""
