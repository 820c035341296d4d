-- R107: Fever and KOReader send a digest of the password, never what is stored of it: those passwords opened nothing.
-- removes: device passwords for Fever and KOReader, which could never work: select count(*) from api_token where kind = 'device' and scopes not like '%opds%' and scopes not like '%greader%'
delete from api_token where kind = 'device' and scopes not like '%opds%' and scopes not like '%greader%';
update api_token set scopes = trim(replace(replace(replace(scopes, 'koreader', ''), 'fever', ''), '  ', ' '))
where kind = 'device';
